//! Computes which results of a decision are enforced if the policy, or some of its rules, only
//! observe.
//!
//! A restricting result that is not enforced becomes an allow result that says so. It keeps its
//! constraints, because the firewall is always enforced. Rules that are enforced individually keep
//! their results. So do the checks that no policy can lift: rung L5, the run mode, visibility and
//! contracts, masked values, preconditions, and the system itself.

use weaver_types::{CheckKind, CheckResult, ReasonCode, Verdict};

use super::{ask_for_arguments, release_holds, rules, run_checks_besides_rules};
use crate::enforcement::RuleEnforcement;
use crate::policy_set::PolicySet;
use crate::query::PolicyQuery;
use crate::rule::{Effect, Rule};

/// The results of every check, with observed results turned into allow results.
pub(super) fn enforced_results(set: &PolicySet, query: &PolicyQuery<'_>) -> Vec<CheckResult> {
    let mut out = match set.policy().enforcement {
        RuleEnforcement::Enforce => results_when_enforcing(set, query),
        RuleEnforcement::Observe => results_when_observing(set, query),
    };
    release_holds(query, &mut out);
    ask_for_arguments(query, &mut out);
    out
}

/// The policy enforces, and some rules observe. Those neither stop nor allow anything.
fn results_when_enforcing(set: &PolicySet, query: &PolicyQuery<'_>) -> Vec<CheckResult> {
    let policy = set.policy();
    let enforced = |rule: &Rule| policy.enforcement_of(rule) == RuleEnforcement::Enforce;
    let mut out = rules::check_rules(set, query, enforced);
    let observed = rules::check_rules(set, query, |rule| !enforced(rule) && may_restrict(rule));
    out.extend(observed.into_iter().filter(comes_from_rule).map(mark_unenforced));
    run_checks_besides_rules(set, query, &mut out);
    out
}

/// The policy observes, and some rules are enforced. Their denials and holds stay in force.
fn results_when_observing(set: &PolicySet, query: &PolicyQuery<'_>) -> Vec<CheckResult> {
    let policy = set.policy();
    let enforced =
        |rule: &Rule| policy.enforcement_of(rule) == RuleEnforcement::Enforce && may_restrict(rule);
    let mut stopped = rules::check_rules(set, query, enforced);
    stopped.retain(comes_from_rule);
    let mut out = rules::check_rules(set, query, |rule| !enforced(rule));
    if !stopped.is_empty() {
        // A rule did match, so the result for "no matching rule" is wrong.
        out.retain(comes_from_rule);
    }
    run_checks_besides_rules(set, query, &mut out);
    for result in &mut out {
        if let Some(lifted) = unenforced_if_observed(set, result) {
            *result = lifted;
        }
    }
    out.append(&mut stopped);
    out
}

/// Whether the rule can restrict a call by itself.
fn may_restrict(rule: &Rule) -> bool {
    match rule.effect {
        Effect::Allow => false,
        Effect::Deny | Effect::RequireApproval => true,
    }
}

fn comes_from_rule(result: &CheckResult) -> bool {
    result.reason != ReasonCode::NoMatchingRule
}

/// The result that replaces this one under an observing policy; `None` if it stays in force.
pub(super) fn unenforced_if_observed(set: &PolicySet, result: &CheckResult) -> Option<CheckResult> {
    let observes = set.policy().enforcement == RuleEnforcement::Observe;
    let lifts = observes && result.verdict > Verdict::Allow && !is_always_enforced(result);
    lifts.then(|| mark_unenforced(result.clone()))
}

/// Whether it is enforced under every policy.
fn is_always_enforced(result: &CheckResult) -> bool {
    match result.check {
        CheckKind::Prohibited
        | CheckKind::Mode
        | CheckKind::Contract
        | CheckKind::Precondition
        | CheckKind::System => true,
        // The firewall decides where masked values may go.
        CheckKind::Flow => result.reason == ReasonCode::MaskedValueFlow,
        CheckKind::Rule
        | CheckKind::Role
        | CheckKind::Permission
        | CheckKind::Attribute
        | CheckKind::Sensitivity
        | CheckKind::Justification
        | CheckKind::Floor
        | CheckKind::Signal
        | CheckKind::Limit => false,
    }
}

/// Turns the result into an allow result that states what it would have done.
fn mark_unenforced(result: CheckResult) -> CheckResult {
    let word = match result.verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "sent back",
        Verdict::Hold => "held",
        Verdict::Deny => "denied",
    };
    let detail =
        format!("not enforced; it would have been {word} ({}): {}", result.reason, result.detail);
    CheckResult::new(result.check, Verdict::Allow, ReasonCode::NotEnforced, detail)
        .with_constraints(result.constraints)
}
