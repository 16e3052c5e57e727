//! The labels of what a call brings.

use weaver_types::{CallId, Capability, Confidentiality, Label, ResponseMode, SensitivityTag};

/// The label of the stored, unredacted result: also the worst that a call can bring.
pub(crate) fn stored(capability: &Capability, call: &CallId) -> Label {
    let label = capability.spec().output_label.clone().tainted_by(call);
    Label { confidentiality: at_least(capability, SensitivityTag::stored), ..label }
}

/// The label of a frame of what is stored so: the contract's, at least that of the sensitive data
/// in it.
pub(crate) fn framed(capability: &Capability, mode: ResponseMode, stored: &Label) -> Label {
    let confidentiality = match mode {
        ResponseMode::Raw => stored.confidentiality,
        ResponseMode::Auto
        | ResponseMode::Table
        | ResponseMode::Summary
        | ResponseMode::HandleOnly => at_least(capability, SensitivityTag::framed),
    };
    Label { confidentiality, ..stored.clone() }
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
    floor: fn(SensitivityTag) -> Confidentiality,
) -> Confidentiality {
    let spec = capability.spec();
    let floors = spec.sensitivity.iter().map(|tag| floor(*tag));
    floors.fold(spec.output_label.confidentiality, Confidentiality::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weaver_types::{Agents, CapabilityDraft, CapabilityId, Effects, Integrity};

    #[test]
    fn a_frame_is_as_confidential_as_what_it_shows() {
        let id = CapabilityId::parse("people.list").unwrap();
        let mut draft = CapabilityDraft::new(id, "List people", Effects::READ_LOCAL, Agents::Any);
        draft.sensitivity.insert(SensitivityTag::Pii);
        let capability = draft.build().unwrap();
        let call = CallId::parse("call_1").unwrap();
        let stored = stored(&capability, &call);
        assert_eq!(stored.confidentiality, SensitivityTag::Pii.stored());
        assert_eq!((stored.integrity, stored.taints.contains(&call)), (Integrity::Untrusted, true));
        assert_eq!(framed(&capability, ResponseMode::Raw, &stored), stored);
        let masked = framed(&capability, ResponseMode::Summary, &stored);
        assert_eq!(masked.confidentiality, SensitivityTag::Pii.framed());
        assert!(masked.confidentiality < stored.confidentiality);
        assert_eq!(masked.taints, stored.taints);
    }
}
