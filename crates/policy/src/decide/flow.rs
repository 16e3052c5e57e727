//! Information flow: what the run has taken in, against where this call would send it.
//!
//! A lattice model (Denning, *A Lattice Model of Secure Information Flow*, 1976) over labels of two
//! components. Confidentiality: data above the clearance of a sink does not flow there (Bell and
//! LaPadula). Integrity: what untrusted input may have chosen does not decide where a call goes (Biba).
//! A run's label is the join of all that it was shown, so one label stands for everything in the
//! model's context, of which nobody can tell what it will use.

mod masked_values;
mod provenance_check;

use std::borrow::Cow;

use weaver_types::{
    Check, Confidentiality, Contribution, Discharge, Integrity, Label, Operation, ReasonCode,
    SinkKind, Verdict,
};

use crate::query::Query;
use crate::set::PolicySet;

/// Holds a call to a sink when the run holds more confidential data than the sink may receive,
/// or when somebody else may have steered the run and what decides where the call goes is found
/// neither in the user's words nor, at most sinks, in trusted results. Where nothing leaves, the
/// call goes on: one tainted text must not stop later reads. A view sends nothing anywhere.
pub(super) fn sink(set: &PolicySet, query: &Query<'_>, out: &mut Vec<Contribution>) {
    let (capability, label) = (query.capability, query.label);
    if query.operation == Operation::View {
        return;
    }
    masked_values::check(query, out);
    if capability.sink() == SinkKind::None || provenance_check::goes_nowhere(query) {
        return;
    }
    let label = &with_masked(query, label);
    let clearance = capability.spec().clearance;
    if label.confidentiality > clearance {
        let detail = format!(
            "the run holds {} data, and `{}` may receive {} data at most",
            word(label.confidentiality),
            capability.id(),
            word(clearance)
        );
        out.push(hold(ReasonCode::ClearanceExceeded, &detail));
    }
    if label.integrity == Integrity::Untrusted
        && let Err(problem) = provenance_check::check(query, &set.policy().trusted_destinations)
    {
        let from = tainting_calls(label);
        let detail = format!("the run has taken in untrusted data from {from}, and {problem}");
        out.push(hold(ReasonCode::UntrustedInfluence, &detail));
    }
}

/// The label of the run with what the call brings from behind masks. What may go where the call
/// goes anyway is no reason against it.
fn with_masked<'a>(query: &Query<'a>, label: &'a Label) -> Cow<'a, Label> {
    let more = query.masked.iter().filter(|value| !masked_values::may_go(query, value));
    more.fold(Cow::Borrowed(label), |label, value| {
        Cow::Owned(label.into_owned().join(&value.label))
    })
}

/// The calls that brought untrusted data: one by name, the others counted, since the record of the
/// call has all of them.
fn tainting_calls(label: &Label) -> String {
    match (label.taints.iter().next(), label.taints.len()) {
        (None, _) => "unnamed calls".to_owned(),
        (Some(call), 1) => format!("`{call}`"),
        (Some(call), 2) => format!("`{call}` and 1 more call"),
        (Some(call), all) => format!("`{call}` and {} more calls", all - 1),
    }
}

fn word(confidentiality: Confidentiality) -> &'static str {
    match confidentiality {
        Confidentiality::Public => "public",
        Confidentiality::Internal => "internal",
        Confidentiality::Confidential => "confidential",
        Confidentiality::Restricted => "restricted",
    }
}

fn hold(reason: ReasonCode, detail: &str) -> Contribution {
    Contribution::new(Check::Flow, Verdict::Hold, reason, detail).discharged_by(Discharge::Approval)
}

#[cfg(test)]
mod tests {
    use weaver_types::CallId;

    use super::*;

    #[test]
    fn one_tainting_call_is_named_and_the_others_counted() {
        let cases = [
            (0, "unnamed calls"),
            (1, "`call_1`"),
            (2, "`call_1` and 1 more call"),
            (4, "`call_1` and 3 more calls"),
        ];
        for (calls, words) in cases {
            let calls = (1..=calls).map(|n| CallId::parse(format!("call_{n}")).unwrap());
            let label =
                calls.fold(Label::undeclared_output(), |label, call| label.tainted_by(&call));
            assert_eq!(tainting_calls(&label), words);
        }
    }
}
