//! The four capabilities.

use serde_json::{Value, json};
use weaver_types::{
    Agents, Capability, CapabilityDraft, CapabilityId, Confidentiality, Effects, Impact, Integrity,
    Label, SensitivityTag, SinkKind,
};

/// One of the four, with the properties of its arguments.
struct MemoryTool {
    id: &'static str,
    description: &'static str,
    effects: Effects,
    properties: Value,
    required: Value,
}

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
    let tools = [
        MemoryTool {
            id: "kernel.memory.put",
            description: "Remember a value, a fact or an episode under a key, for later sessions",
            effects: Effects::WRITE_LOCAL,
            properties: put,
            required: json!(["value"]),
        },
        MemoryTool {
            id: "kernel.memory.get",
            description: "Give what is remembered under a key",
            effects: Effects::READ_LOCAL,
            properties: one.clone(),
            required: json!(["key"]),
        },
        MemoryTool {
            id: "kernel.memory.recall",
            description: "Give the facts and episodes that bear on a query",
            effects: Effects::READ_LOCAL,
            properties: json!({ "query": texts(4_000) }),
            required: json!(["query"]),
        },
        MemoryTool {
            id: "kernel.memory.delete",
            description: "Forget what is remembered under a key, for good",
            effects: Effects::DESTROY_LOCAL,
            properties: one,
            required: json!(["key"]),
        },
    ];
    tools.into_iter().filter_map(capability).collect()
}

/// These are constants that build; a test holds that all four do.
fn capability(tool: MemoryTool) -> Option<Capability> {
    let MemoryTool { id, description, effects, properties, required } = tool;
    let schema = json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    });
    let draft = CapabilityDraft {
        description: description.to_owned(),
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
