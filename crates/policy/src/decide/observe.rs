//! What is enforced of a decision under a policy that observes.
//!
//! What stands in the way and is not enforced becomes a contribution that allows and says so. It
//! keeps its constraints, since the firewall always holds. Rules that are enforced one by one speak
//! as ever, and so does what no policy can lift: rung L5, the run mode, visibility and contracts,
//! masked values, preconditions, and the system itself.

use weaver_types::{Check, Contribution, ReasonCode, Verdict};

use super::{ask_for_arguments, beside_rules, release, rules};
use crate::enforcement::RuleEnforcement;
use crate::query::Query;
use crate::rule::{Effect, Rule};
use crate::set::PolicySet;

/// What every check contributes, with what is only observed turned into what allows.
pub(super) fn enforced(set: &PolicySet, query: &Query<'_>) -> Vec<Contribution> {
    let mut out = match set.policy().enforcement {
        RuleEnforcement::Enforce => enforcing(set, query),
        RuleEnforcement::Observe => observing(set, query),
    };
    release(query, &mut out);
    ask_for_arguments(query, &mut out);
    out
}

/// The policy enforces, and some rules observe: they neither stop nor allow anything.
fn enforcing(set: &PolicySet, query: &Query<'_>) -> Vec<Contribution> {
    let policy = set.policy();
    let enforced = |rule: &Rule| policy.enforcement_of(rule) == RuleEnforcement::Enforce;
    let mut out = rules::contributions(set, query, enforced);
    let observed = rules::contributions(set, query, |rule| !enforced(rule) && may_stop(rule));
    out.extend(observed.into_iter().filter(is_of_a_rule).map(unenforced));
    beside_rules(set, query, &mut out);
    out
}

/// The policy observes, and some rules are enforced: what they deny or hold stays so.
fn observing(set: &PolicySet, query: &Query<'_>) -> Vec<Contribution> {
    let policy = set.policy();
    let enforced =
        |rule: &Rule| policy.enforcement_of(rule) == RuleEnforcement::Enforce && may_stop(rule);
    let mut stopped = rules::contributions(set, query, enforced);
    stopped.retain(is_of_a_rule);
    let mut out = rules::contributions(set, query, |rule| !enforced(rule));
    if !stopped.is_empty() {
        // Some rule does match.
        out.retain(is_of_a_rule);
    }
    beside_rules(set, query, &mut out);
    for said in &mut out {
        if let Some(lifted) = lifted(set, said) {
            *said = lifted;
        }
    }
    out.append(&mut stopped);
    out
}

/// Whether the rule can stand in the way by itself.
fn may_stop(rule: &Rule) -> bool {
    match rule.effect {
        Effect::Allow => false,
        Effect::Deny | Effect::RequireApproval => true,
    }
}

fn is_of_a_rule(said: &Contribution) -> bool {
    said.reason != ReasonCode::NoMatchingRule
}

/// The contribution that takes the place of this one under a policy that observes; `None` where it
/// holds all the same.
pub(super) fn lifted(set: &PolicySet, said: &Contribution) -> Option<Contribution> {
    let observes = set.policy().enforcement == RuleEnforcement::Observe;
    let lifts = observes && said.verdict > Verdict::Allow && !always_holds(said);
    lifts.then(|| unenforced(said.clone()))
}

/// Whether it holds under every policy.
fn always_holds(said: &Contribution) -> bool {
    match said.check {
        Check::Prohibited | Check::Mode | Check::Contract | Check::Precondition | Check::System => {
            true
        }
        // What a mask stands for goes where the firewall lets it go.
        Check::Flow => said.reason == ReasonCode::MaskedValueFlow,
        Check::Rule
        | Check::Role
        | Check::Permission
        | Check::Attribute
        | Check::Sensitivity
        | Check::Justification
        | Check::Floor
        | Check::Signal
        | Check::Limit => false,
    }
}

/// The same, as what allows and says what it would have done.
fn unenforced(said: Contribution) -> Contribution {
    let word = match said.verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "sent back",
        Verdict::Hold => "held",
        Verdict::Deny => "denied",
    };
    let detail =
        format!("not enforced; it would have been {word} ({}): {}", said.reason, said.detail);
    Contribution::new(said.check, Verdict::Allow, ReasonCode::NotEnforced, detail)
        .with_constraints(said.constraints)
}
