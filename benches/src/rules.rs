//! Policies of many rules, and requests against them.
//!
//! Of the rules, 60 % name a prefix of a capability, 25 % an exact one, 15 % a suffix; 70 % allow,
//! 15 % require an approval, 15 % deny. Each asks for a role, and each covers some rungs. Of the
//! requests, 70 % aim at a rule.

use std::collections::BTreeSet;

use weaver_policy::{Contracts, Effect, Pattern, Policy, PolicySet, Query, Roles, Rule};
use weaver_types::{
    Capability, CapabilityId, CapabilityRequest, Decision, Effects, Label, Principal, PrincipalId,
    Rung, Timestamp, ToolSpec,
};

use crate::{Failure, Numbers};

const ROLES: [&str; 8] =
    ["reader", "writer", "admin", "ops", "auditor", "support", "finance", "guest"];
const VERBS: [&str; 4] = ["get", "list", "update", "delete"];
const EFFECTS: [Effects; 4] =
    [Effects::READ_LOCAL, Effects::READ_OPEN, Effects::WRITE_LOCAL, Effects::UNDECLARED];
const RUNGS: [Rung; 4] = [Rung::L0, Rung::L1, Rung::L3, Rung::L4];
const REQUESTS: usize = 1_000;

/// One request.
pub struct Ask {
    capability: Capability,
    principal: Principal,
    request: CapabilityRequest,
}

/// A compiled policy and requests against it.
pub struct Workload {
    /// The policy.
    pub set: PolicySet,
    /// A thousand requests.
    pub asks: Vec<Ask>,
    label: Label,
}

impl Workload {
    /// A policy of `count` rules.
    ///
    /// # Errors
    /// When a rule or a request is malformed.
    pub fn new(count: usize) -> Result<Self, Failure> {
        let mut numbers = Numbers::new(u64::try_from(count)?);
        let namespaces = (count / 25).max(2);
        let mut policy = Policy::new("bench");
        let mut globs = Vec::with_capacity(count);
        for place in 0..count {
            let glob = glob(&mut numbers, namespaces, count);
            policy = policy.with_rule(rule(&mut numbers, place, &glob)?);
            globs.push(glob);
        }
        let set = PolicySet::from_code(policy, Contracts::new("none"))?;
        let asks = (0..REQUESTS)
            .map(|_| ask(&mut numbers, namespaces, &globs))
            .collect::<Result<_, _>>()?;
        Ok(Self { set, asks, label: Label::clean() })
    }

    /// Decides on one of the requests.
    #[must_use]
    pub fn decide(&self, ask: &Ask) -> Decision {
        self.set.decide(&Query {
            label: &self.label,
            now: Timestamp::from_micros(1_700_000_000_000_000),
            human_channel: true,
            ..Query::new(&ask.capability, &ask.principal, &ask.request)
        })
    }
}

fn glob(numbers: &mut Numbers, namespaces: usize, count: usize) -> String {
    let (namespace, op) = (numbers.below(namespaces), numbers.below(10));
    let verb = *numbers.pick(&VERBS);
    match numbers.below(100) {
        0..60 => format!("ns{namespace}__op{op}_*"),
        60..85 => format!("ns{namespace}__op{op}_{verb}"),
        _ => format!("*__op{op}x{}_{verb}", numbers.below(count.max(8) / 2)),
    }
}

fn rule(numbers: &mut Numbers, place: usize, glob: &str) -> Result<Rule, Failure> {
    let effect = match numbers.below(100) {
        0..70 => Effect::Allow,
        70..85 => Effect::RequireApproval,
        _ => Effect::Deny,
    };
    let mut rule = Rule::new(format!("rule-{place}"), effect).on(Pattern::parse(glob)?);
    rule.matches.roles = Roles::any([*numbers.pick(&ROLES)]);
    let edge = numbers.below(RUNGS.len());
    let rungs = if effect == Effect::Allow { &RUNGS[..=edge.max(1)] } else { &RUNGS[edge..] };
    rule.matches.rung = rungs.iter().copied().collect::<BTreeSet<_>>();
    Ok(rule)
}

fn ask(numbers: &mut Numbers, namespaces: usize, globs: &[String]) -> Result<Ask, Failure> {
    let who = numbers.below(64);
    let roles = [ROLES[who % 8], ROLES[who / 8]];
    let tool = if numbers.below(10) < 7 {
        let aimed = numbers.pick(globs).clone();
        let (namespace, verb) =
            (format!("ns{}__", numbers.below(namespaces)), *numbers.pick(&VERBS));
        aimed.replace("*__", &namespace).replace('*', verb)
    } else {
        let (namespace, op) = (numbers.below(namespaces), numbers.below(10));
        format!("ns{namespace}__op{op}_{}", numbers.pick(&VERBS))
    };
    let spec = ToolSpec::new(&tool, "Tool").with_effects(*numbers.pick(&EFFECTS));
    Ok(Ask {
        capability: spec.build()?,
        principal: Principal::new(PrincipalId::parse(format!("user-{who}"))?).with_roles(roles),
        request: CapabilityRequest::new(CapabilityId::parse(&tool)?, "a goal"),
    })
}

#[cfg(test)]
mod tests {
    use weaver_types::Verdict;

    use super::Workload;

    #[test]
    fn the_workload_is_the_same_each_time_and_gives_every_kind_of_answer() {
        let (one, two) = (Workload::new(1_000).unwrap(), Workload::new(1_000).unwrap());
        let verdicts = |w: &Workload| -> Vec<Verdict> {
            w.asks.iter().map(|ask| w.decide(ask).verdict()).collect()
        };
        assert_eq!(verdicts(&one), verdicts(&two));
        for verdict in [Verdict::Allow, Verdict::Hold, Verdict::Deny] {
            assert!(verdicts(&one).iter().filter(|v| **v == verdict).count() > 20, "{verdict}");
        }
    }
}
