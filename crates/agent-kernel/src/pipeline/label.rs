//! The labels of what a call brings.

use weaver_types::{CallId, Capability, Label, ResponseMode, SensitivityTag};

/// The label of a frame: the contract's, at least that of the sensitive data in it.
pub(crate) fn framed(capability: &Capability, mode: ResponseMode, call: &CallId) -> Label {
    match mode {
        ResponseMode::Raw => stored(capability, call),
        ResponseMode::Table | ResponseMode::Summary | ResponseMode::HandleOnly => {
            at_least(capability, call, SensitivityTag::framed)
        }
    }
}

/// The label of the stored, unredacted result: also the worst that a call can bring.
pub(crate) fn stored(capability: &Capability, call: &CallId) -> Label {
    at_least(capability, call, SensitivityTag::stored)
}

/// The same, under what the result's own source knows of it.
pub(crate) fn known(label: Label, own: Option<&Label>) -> Label {
    match own {
        Some(own) => label.join(own),
        None => label,
    }
}

fn at_least(
    capability: &Capability,
    call: &CallId,
    floor: fn(SensitivityTag) -> weaver_types::Confidentiality,
) -> Label {
    let spec = capability.spec();
    let mut label = spec.output_label.clone().tainted_by(call);
    if let Some(floor) = spec.sensitivity.iter().map(|tag| floor(*tag)).max() {
        label.confidentiality = label.confidentiality.max(floor);
    }
    label
}
