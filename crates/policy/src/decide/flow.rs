//! Information-flow check: compares the label of what the run has taken in with the sink that this
//! call would send it to.
//!
//! A lattice model (Denning, *A Lattice Model of Secure Information Flow*, 1976) over labels with
//! two components. Confidentiality: data above the clearance of a sink must not flow there (Bell
//! and LaPadula). Integrity: values that untrusted input may have chosen must not decide where a
//! call goes (Biba). A run's label is the join of everything that it was shown. One label covers
//! the whole context of the model, because nobody can tell which parts of it the model will use.

mod address_check;
mod address_role;
mod fetched_text;
mod mask_surroundings;
mod masked_values;
mod network_address;
mod outward_operation;
mod provenance_check;
pub(crate) mod provenance_gap;
mod receiver_search;
mod value_context;

use std::borrow::Cow;

use weaver_types::{
    CheckKind, CheckResult, Integrity, Label, Operation, ReasonCode, Remedy, SinkKind, Verdict,
};

use provenance_gap::ProvenanceGap;

use crate::explain::{confidentiality_word, describe_tainting_calls};
use crate::policy_set::PolicySet;
use crate::query::PolicyQuery;

/// Holds a call to a sink in two cases. First, the run has data that is more confidential than the
/// sink may receive. Second, the run has taken in untrusted data, and a value that decides where
/// the call goes comes neither from the user's words nor, at most sinks, from trusted results. A
/// call without a sink goes on, because one tainted text must not block later reads, unless an
/// argument of it is an address of another machine. A view sends nothing anywhere.
pub(super) fn check_flow(set: &PolicySet, query: &PolicyQuery<'_>, out: &mut Vec<CheckResult>) {
    let (capability, label) = (query.capability, query.label);
    if query.operation == Operation::View {
        return;
    }
    masked_values::check(query, out);
    let destinations = &set.policy().trusted_destinations;
    if capability.sink() == SinkKind::None {
        if label.integrity == Integrity::Untrusted
            && let Err(gap) = address_check::check(query, destinations)
        {
            out.push(untrusted_influence(query, label, &gap));
        }
        return;
    }
    if receiver_search::has_no_receiver(query) {
        return;
    }
    let label = &label_with_masked_values(query, label);
    let clearance = capability.spec().clearance;
    if label.confidentiality > clearance {
        let detail = format!(
            "the run holds {} data, and `{}` may receive {} data at most",
            confidentiality_word(label.confidentiality),
            capability.id(),
            confidentiality_word(clearance)
        );
        out.push(flow_hold(ReasonCode::ClearanceExceeded, &detail));
    }
    if label.integrity == Integrity::Untrusted
        && let Err(gap) = provenance_check::check(query, destinations)
    {
        out.push(untrusted_influence(query, label, &gap));
    }
}

fn untrusted_influence(query: &PolicyQuery<'_>, label: &Label, gap: &ProvenanceGap) -> CheckResult {
    let from = describe_tainting_calls(label);
    let gap = gap.describe(query.origins);
    let detail = format!("the run has taken in untrusted data from {from}, and {gap}");
    flow_hold(ReasonCode::UntrustedInfluence, &detail)
}

/// The label of the run, joined with the labels of masked values in the call. Masked values that
/// may go to this tool anyway are left out.
fn label_with_masked_values<'a>(query: &PolicyQuery<'a>, label: &'a Label) -> Cow<'a, Label> {
    let more = query.masked.iter().filter(|value| !masked_values::may_receive(query, value));
    more.fold(Cow::Borrowed(label), |label, value| {
        Cow::Owned(label.into_owned().join(&value.label))
    })
}

fn flow_hold(reason: ReasonCode, detail: &str) -> CheckResult {
    CheckResult::new(CheckKind::Flow, Verdict::Hold, reason, detail).with_remedy(Remedy::Approval)
}
