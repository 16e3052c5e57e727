//! The labels of results.

use weaver_types::{CallId, Capability, Confidentiality, Label, ResponseMode, SensitivityTag};

/// The label of the stored, unredacted result, which is the worst label that a call can produce.
pub(crate) fn stored_label(capability: &Capability, call: &CallId) -> Label {
    let label = capability.spec().output_label.clone().tainted_by(call);
    Label {
        confidentiality: confidentiality_with_floors(
            capability,
            SensitivityTag::stored_confidentiality,
        ),
        ..label
    }
}

/// The label of a frame of a stored result: the contract's, with at least the confidentiality of
/// the sensitive data in it.
pub(crate) fn frame_label(capability: &Capability, mode: ResponseMode, stored: &Label) -> Label {
    let confidentiality = match mode {
        ResponseMode::Raw => stored.confidentiality,
        ResponseMode::Auto
        | ResponseMode::Table
        | ResponseMode::Summary
        | ResponseMode::HandleOnly => {
            confidentiality_with_floors(capability, SensitivityTag::framed_confidentiality)
        }
    };
    Label { confidentiality, ..stored.clone() }
}

/// The label joined with the one that the source of the result gives, if any.
pub(crate) fn joined_with_source(label: Label, source_label: Option<&Label>) -> Label {
    match source_label {
        Some(source_label) => label.join(source_label),
        None => label,
    }
}

fn confidentiality_with_floors(
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
    use weaver_types::{AllowedAgents, CapabilityDraft, CapabilityId, Effects, Integrity};

    #[test]
    fn a_frame_is_as_confidential_as_what_it_shows() {
        let id = CapabilityId::parse("people.list").unwrap();
        let mut draft =
            CapabilityDraft::new(id, "List people", Effects::READ_LOCAL, AllowedAgents::Any);
        draft.sensitivity.insert(SensitivityTag::Pii);
        let capability = draft.build().unwrap();
        let call = CallId::parse("call_1").unwrap();
        let stored = stored_label(&capability, &call);
        assert_eq!(stored.confidentiality, SensitivityTag::Pii.stored_confidentiality());
        assert_eq!((stored.integrity, stored.taints.contains(&call)), (Integrity::Untrusted, true));
        assert_eq!(frame_label(&capability, ResponseMode::Raw, &stored), stored);
        let masked = frame_label(&capability, ResponseMode::Summary, &stored);
        assert_eq!(masked.confidentiality, SensitivityTag::Pii.framed_confidentiality());
        assert!(masked.confidentiality < stored.confidentiality);
        assert_eq!(masked.taints, stored.taints);
    }
}
