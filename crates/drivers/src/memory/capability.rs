//! The four capabilities.

use serde_json::{Value, json};
use weaver_types::{
    Agents, Capability, CapabilityDraft, CapabilityId, Confidentiality, Effects, Impact, Integrity,
    Label, SensitivityTag, SinkKind,
};

/// Put, get, recall, delete.
pub(super) fn all() -> Vec<Capability> {
    let key = json!({ "type": "string", "minLength": 1, "maxLength": 256 });
    let kind = json!({ "enum": ["value", "fact", "episode"] });
    let texts = |most: u32| json!({ "type": "string", "maxLength": most });
    let put = json!({
        "key": key, "value": {}, "kind": kind, "source": texts(900),
        "ttl_s": { "type": "number", "minimum": 0 },
    });
    let one = json!({ "key": key, "kind": kind });
    let said = [
        (
            "kernel.memory.put",
            "Remember a value, a fact or an episode under a key, for later sessions",
            Effects::WRITE_LOCAL,
            (put, json!(["value"])),
        ),
        (
            "kernel.memory.get",
            "Give what is remembered under a key",
            Effects::READ_LOCAL,
            (one.clone(), json!(["key"])),
        ),
        (
            "kernel.memory.recall",
            "Give the facts and episodes that bear on a query",
            Effects::READ_LOCAL,
            (json!({ "query": texts(4_000) }), json!(["query"])),
        ),
        (
            "kernel.memory.delete",
            "Forget what is remembered under a key, for good",
            Effects::DESTROY_LOCAL,
            (one, json!(["key"])),
        ),
    ];
    let made = said
        .into_iter()
        .map(|(id, about, effects, arguments)| capability(id, about, effects, arguments));
    made.flatten().collect()
}

/// These are constants that build; a test holds that all four do.
fn capability(
    id: &str,
    about: &str,
    effects: Effects,
    (properties, required): (Value, Value),
) -> Option<Capability> {
    let schema = json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    });
    let draft = CapabilityDraft {
        description: about.to_owned(),
        sink: Some(if effects.impact == Impact::Destroy {
            SinkKind::Destructive
        } else {
            SinkKind::None
        }),
        input_schema: Some(schema.into()),
        sensitivity: [SensitivityTag::Memory].into_iter().collect(),
        tags: ["memory".to_owned()].into_iter().collect(),
        // What an entry is labelled with comes with each answer, and makes this stricter.
        output_label: Label::of(Confidentiality::Internal, Integrity::Trusted),
        ..CapabilityDraft::new(CapabilityId::parse(id).ok()?, id, effects, Agents::Any)
    };
    draft.build().ok()
}
