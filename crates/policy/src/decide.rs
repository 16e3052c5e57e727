//! The decision: what each check contributes. [`Decision::join`] joins the contributions, and a join
//! only tightens.

mod access;
mod floor;
mod flow;
mod observe;
mod rules;

use weaver_types::{
    Check, Constraints, Contribution, Decision, Discharge, Operation, ReasonCode, Verdict,
};

use crate::approval;
use crate::bounds::ApprovalBounds;
use crate::query::Query;
use crate::set::PolicySet;
use crate::signal;

impl PolicySet {
    /// Decides. A pure function of the documents and the query.
    #[must_use]
    pub fn decide(&self, query: &Query<'_>) -> Decision {
        let decision = Decision::join(contributions(self, query), self.basis().clone());
        if !self.observes() {
            return decision;
        }
        let enforced = observe::enforced(self, query);
        Decision::join(enforced, self.basis().clone()).observing(decision)
    }

    /// The decision with what a limit of the policy says joined in. Where the policy observes, that
    /// is recorded and not enforced.
    #[must_use]
    pub fn limited(&self, decision: Decision, said: Contribution) -> Decision {
        match observe::lifted(self, &said) {
            Some(lifted) => decision.tightened_observing(lifted, Some(said)),
            None => decision.tightened(said),
        }
    }
}

/// What every check contributes, in no particular order, as if everything were enforced.
fn contributions(set: &PolicySet, query: &Query<'_>) -> Vec<Contribution> {
    let mut out = rules::contributions(set, query, |_| true);
    beside_rules(set, query, &mut out);
    release(query, &mut out);
    ask_for_arguments(query, &mut out);
    out
}

/// What the checks beside the rules contribute.
fn beside_rules(set: &PolicySet, query: &Query<'_>, out: &mut Vec<Contribution>) {
    access::expiry(set, query, out);
    access::visibility(set, query, out);
    access::permissions(query, out);
    access::agents(query, out);
    access::declared(set, query, out);
    access::limits(query, out);
    floor::rung(query, out);
    floor::mode(query, out);
    limits(set, query, out);
    flow::sink(set, query, out);
    signals(set, query, out);
    authority(set.approvals(), out);
}

/// What people released.
fn release(query: &Query<'_>, out: &mut [Contribution]) {
    if let Some(release) = query.release {
        approval::discharge(release, query, out);
    }
}

/// Rate limits.
fn limits(set: &PolicySet, query: &Query<'_>, out: &mut Vec<Contribution>) {
    let limits = &set.policy().limits;
    if let Some(windows) = query.windows.filter(|_| !limits.is_empty()) {
        out.extend(windows.check(query, limits));
    }
}

/// What the sources of signals say.
fn signals(set: &PolicySet, query: &Query<'_>, out: &mut Vec<Contribution>) {
    let rung = query.capability.rung();
    let table = &set.policy().signals;
    out.extend(signal::contributions(query.signals, table, rung, query.operation));
}

/// The authority that the policy asks for where something other than a rule holds.
fn authority(bounds: &ApprovalBounds, out: &mut [Contribution]) {
    for held in out.iter_mut().filter(|one| one.verdict == Verdict::Hold) {
        let more = match held.check {
            Check::Floor => &bounds.floor,
            Check::Flow => &bounds.flow,
            Check::Signal => &bounds.signal,
            _ => continue,
        };
        held.authority = std::mem::take(&mut held.authority).join(more);
    }
}

/// Nobody can release a call without its arguments, so they are asked for first.
fn ask_for_arguments(query: &Query<'_>, out: &mut Vec<Contribution>) {
    let strictest = out.iter().map(|contribution| contribution.verdict).max();
    let invoked = query.operation == Operation::Invoke;
    if invoked && query.arguments.is_none() && strictest == Some(Verdict::Hold) {
        let detail = "a call that somebody must release needs its arguments";
        let ask = Contribution::new(
            Check::Justification,
            Verdict::Ask,
            ReasonCode::ArgumentsRequired,
            detail,
        );
        out.push(ask.discharged_by(Discharge::Arguments));
    }
}

/// A contribution that stands in nobody's way and only limits.
fn limit(check: Check, detail: &str, constraints: Constraints) -> Contribution {
    Contribution::new(check, Verdict::Allow, ReasonCode::RuleAllow, detail)
        .with_constraints(constraints)
}
