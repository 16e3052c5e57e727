//! The decision: what each check contributes. Joining them is the vocabulary's business, and a
//! join only tightens.

mod access;
mod condition;
mod floor;
mod flow;
mod rules;

use weaver_types::{Check, Constraints, Contribution, Discharge, Operation, ReasonCode, Verdict};

use crate::approval;
use crate::query::Query;
use crate::set::PolicySet;

/// Everything that the checks say, in no particular order.
pub(crate) fn contributions(set: &PolicySet, query: &Query<'_>) -> Vec<Contribution> {
    let mut out = rules::contributions(set, query);
    access::expiry(set, query, &mut out);
    access::visibility(set, query, &mut out);
    access::permissions(query, &mut out);
    access::agents(query, &mut out);
    access::limits(query, &mut out);
    floor::rung(query, &mut out);
    floor::mode(query, &mut out);
    flow::sink(query, &mut out);
    if let Some(release) = query.release {
        approval::discharge(release, query, &mut out);
    }
    ask_for_arguments(query, &mut out);
    out
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
