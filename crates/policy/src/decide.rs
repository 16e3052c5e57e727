//! Makes a decision from the results of all checks. [`Decision::join`] takes the strictest, so
//! adding a check can only tighten the decision, and the order of the checks does not matter.

mod access;
mod floor;
mod flow;
mod observation;
mod rules;

use weaver_types::{
    CheckKind, CheckResult, Constraints, Decision, Operation, ReasonCode, Remedy, Verdict,
};

pub(crate) use flow::provenance_gap::ProvenanceGap;

use crate::approval;
use crate::policy_set::PolicySet;
use crate::policy_settings::ApprovalSettings;
use crate::query::PolicyQuery;
use crate::signal;

impl PolicySet {
    /// Decides a query. This is a pure function of the documents and the query.
    #[must_use]
    pub fn decide(&self, query: &PolicyQuery<'_>) -> Decision {
        let decision = Decision::join(run_checks(self, query), self.basis().clone());
        if !self.has_unenforced_parts() {
            return decision;
        }
        let enforced = observation::enforced_results(self, query);
        Decision::join(enforced, self.basis().clone()).with_would_have(decision)
    }

    /// Joins the result of a rate limit into the decision. If the policy only observes, the result
    /// is recorded but not enforced.
    #[must_use]
    pub fn with_limit_result(&self, decision: Decision, said: CheckResult) -> Decision {
        match observation::unenforced_if_observed(self, &said) {
            Some(lifted) => decision.joined_with_enforced(lifted, Some(said)),
            None => decision.joined_with(said),
        }
    }
}

/// The results of every check, in no particular order, as if everything were enforced.
fn run_checks(set: &PolicySet, query: &PolicyQuery<'_>) -> Vec<CheckResult> {
    let mut out = rules::check_rules(set, query, |_| true);
    run_checks_besides_rules(set, query, &mut out);
    release_holds(query, &mut out);
    ask_for_arguments(query, &mut out);
    out
}

/// Adds the results of all checks other than the rules.
fn run_checks_besides_rules(set: &PolicySet, query: &PolicyQuery<'_>, out: &mut Vec<CheckResult>) {
    access::check_expiry(set, query, out);
    access::check_visibility(set, query, out);
    access::check_permissions(query, out);
    access::check_agents(query, out);
    access::check_agent_declaration(set, query, out);
    access::add_constraints(query, out);
    floor::check_rung(query, out);
    floor::check_mode(query, out);
    check_rate_limits(set, query, out);
    flow::check_flow(set, query, out);
    check_signals(set, query, out);
    add_policy_authority(set.approvals(), out);
}

/// Turns the holds that people have released into allow results.
fn release_holds(query: &PolicyQuery<'_>, out: &mut [CheckResult]) {
    if let Some(release) = query.release {
        approval::apply_release(release, query, out);
    }
}

/// Checks the rate limits.
fn check_rate_limits(set: &PolicySet, query: &PolicyQuery<'_>, out: &mut Vec<CheckResult>) {
    let limits = &set.policy().limits;
    if let Some(windows) = query.windows.filter(|_| !limits.is_empty()) {
        out.extend(windows.check(query, limits));
    }
}

/// Adds the results of the signal sources.
fn check_signals(set: &PolicySet, query: &PolicyQuery<'_>, out: &mut Vec<CheckResult>) {
    let rung = query.capability.rung();
    let table = &set.policy().signals;
    out.extend(signal::check_results(query.signals, table, rung, query.operation));
}

/// Adds the authority that the policy requires to release holds of checks other than rules.
fn add_policy_authority(bounds: &ApprovalSettings, out: &mut [CheckResult]) {
    for held in out.iter_mut().filter(|one| one.verdict == Verdict::Hold) {
        let more = match held.check {
            CheckKind::Floor => &bounds.floor,
            CheckKind::Flow => &bounds.flow,
            CheckKind::Signal => &bounds.signal,
            _ => continue,
        };
        held.authority = std::mem::take(&mut held.authority).join(more);
    }
}

/// Asks for missing arguments before a call is held: approvers sign the exact arguments, so nobody
/// could release a call without them.
fn ask_for_arguments(query: &PolicyQuery<'_>, out: &mut Vec<CheckResult>) {
    let strictest = out.iter().map(|check_result| check_result.verdict).max();
    let invoked = query.operation == Operation::Invoke;
    if invoked && query.arguments.is_none() && strictest == Some(Verdict::Hold) {
        let detail = "a call that somebody must release needs its arguments";
        let ask = CheckResult::new(
            CheckKind::Justification,
            Verdict::Ask,
            ReasonCode::ArgumentsRequired,
            detail,
        );
        out.push(ask.with_remedy(Remedy::Arguments));
    }
}

/// An allow result that only adds constraints.
fn allow_with_constraints(check: CheckKind, detail: &str, constraints: Constraints) -> CheckResult {
    CheckResult::new(check, Verdict::Allow, ReasonCode::RuleAllow, detail)
        .with_constraints(constraints)
}
