//! A [`Scenario`] as documents of ours, and as queries.

use std::fmt::Write as _;

use serde_json::{Value, json};
use weaver_policy::{DocumentSource, DocumentSources, LoadError, PolicyQuery, PolicySet};
use weaver_types::{
    Capability, CapabilityId, CapabilityRequest, Decision, Effects, Principal, PrincipalId,
    Timestamp, ToolSpec, Verdict,
};

use crate::Failure;
use crate::scenario::{Answer, Call, Condition, Line, Scenario, roles};

/// Contracts that say nothing.
pub const CONTRACTS: &str = "kind = \"contracts\"\nformat = 1\nid = \"bench\"\nversion = 1\n";
/// Keys of nobody.
pub const KEYS: &str = "kind = \"keys\"\nformat = 1\nid = \"bench\"\nversion = 1\n";
/// The time of every query.
pub const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

/// Level for level: the rungs as documents write them, and effects of a tool on that rung. Above
/// them is the floor, which speaks beside the rules and which other engines do not have.
const RUNGS: [&str; 3] = ["L0", "L1", "L3"];
const EFFECTS: [Effects; 3] = [Effects::READ_LOCAL, Effects::READ_OPEN, Effects::WRITE_LOCAL];

/// One call, as a query needs it.
pub struct Ask {
    capability: Capability,
    principal: Principal,
    request: CapabilityRequest,
    arguments: Value,
}

/// A compiled policy and calls against it.
pub struct Workload {
    /// The policy.
    pub set: PolicySet,
    /// A thousand calls.
    pub asks: Vec<Ask>,
}

impl Workload {
    /// The calls of the scenario, against a set that has read its document.
    ///
    /// # Errors
    /// When a call is malformed.
    pub fn new(set: PolicySet, scenario: &Scenario) -> Result<Self, Failure> {
        let asks = scenario.calls.iter().map(ask).collect::<Result<_, _>>()?;
        Ok(Self { set, asks })
    }

    /// The rules and calls of the scenario.
    ///
    /// # Errors
    /// When a rule or a call is malformed.
    pub fn of(scenario: &Scenario) -> Result<Self, Failure> {
        Self::new(load(&document(scenario)?)?, scenario)
    }

    /// Decides on one of the calls.
    #[must_use]
    pub fn decide(&self, ask: &Ask) -> Decision {
        self.set.decide(&PolicyQuery {
            arguments: Some(&ask.arguments),
            now: NOW,
            ..PolicyQuery::new(&ask.capability, &ask.principal, &ask.request)
        })
    }
}

/// Reads a policy document, beside contracts and keys that say nothing.
///
/// # Errors
/// [`LoadError`] with everything that is wrong in it.
pub fn load(policy: &str) -> Result<PolicySet, LoadError> {
    let sources = DocumentSources {
        policy: DocumentSource::unsigned("policy.toml", policy),
        contracts: DocumentSource::unsigned("contracts.toml", CONTRACTS),
        keys: DocumentSource::unsigned("keys.toml", KEYS),
    };
    PolicySet::load_unsigned_development(&sources, NOW)
}

/// The answer that a decision amounts to; an open question is none.
#[must_use]
pub fn answer(decision: &Decision) -> Option<Answer> {
    match decision.verdict() {
        Verdict::Allow => Some(Answer::Allow),
        Verdict::Ask => None,
        Verdict::Hold => Some(Answer::Approve),
        Verdict::Deny => Some(Answer::Deny),
    }
}

/// The policy document.
///
/// # Errors
/// None that can happen: writing to a text does not fail.
pub fn document(scenario: &Scenario) -> Result<String, Failure> {
    let mut out = "kind = \"policy\"\nformat = 1\nid = \"bench\"\nversion = 1\n".to_owned();
    for (place, line) in scenario.lines.iter().enumerate() {
        rule(&mut out, place, line)?;
    }
    Ok(out)
}

fn rule(out: &mut String, place: usize, line: &Line) -> Result<(), Failure> {
    let effect = match line.answer {
        Answer::Allow => "allow",
        Answer::Approve => "require_approval",
        Answer::Deny => "deny",
    };
    let arguments = match &line.condition {
        Condition::None => String::new(),
        Condition::AtMost(most) => format!(", arguments = [{{ at = \"/amount\", max = {most} }}]"),
        Condition::Below(folder) => {
            format!(", arguments = [{{ at = \"/path\", prefix = \"{folder}\" }}]")
        }
    };
    writeln!(
        out,
        "\n[[rules]]\nname = \"rule-{place}\"\neffect = \"{effect}\"\n\
        match = {{ capability = \"{}\", roles = {{ any = [\"{}\"] }}, rung = {:?}{arguments} }}",
        line.tools,
        line.role,
        &RUNGS[line.levels.clone()],
    )?;
    Ok(())
}

fn ask(call: &Call) -> Result<Ask, Failure> {
    let spec = ToolSpec::new(&call.tool, "Tool").with_effects(EFFECTS[call.level]);
    Ok(Ask {
        capability: spec.build()?,
        principal: Principal::new(PrincipalId::parse(format!("user-{}", call.user))?)
            .with_roles(roles(call.user)),
        request: CapabilityRequest::new(CapabilityId::parse(&call.tool)?, "a goal"),
        arguments: json!({ "amount": call.amount, "path": call.path }),
    })
}

#[cfg(test)]
mod tests {
    use super::{Workload, answer};
    use crate::scenario::{Answer, Scenario};

    #[test]
    fn every_decision_is_the_one_that_reading_all_rules_gives() {
        for count in [10, 100, 1_000] {
            let scenario = Scenario::new(count);
            assert_eq!(scenario, Scenario::new(count));
            let workload = Workload::of(&scenario).unwrap();
            let mut seen = Vec::new();
            for (call, ask) in scenario.calls.iter().zip(&workload.asks) {
                let wanted = scenario.answer(call);
                assert_eq!(answer(&workload.decide(ask)), Some(wanted), "{call:?}");
                seen.push(wanted);
            }
            let of = |wanted| seen.iter().filter(|answer| **answer == wanted).count();
            let least = of(Answer::Allow).min(of(Answer::Approve)).min(of(Answer::Deny));
            assert!(count < 1_000 || least > 20, "{least}");
        }
    }
}
