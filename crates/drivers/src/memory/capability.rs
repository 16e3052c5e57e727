//! The definitions of the four memory capabilities.

use contextweaver::memory::Memory;
use serde_json::{Value, json};
use weaver_agent_kernel::AuthorizedCall;
use weaver_types::{
    AllowedAgents, Capability, CapabilityDraft, CapabilityId, Confidentiality, Effects, Impact,
    Integrity, Label, SensitivityTag, SinkKind,
};

use super::CallResult;

/// The longest lifetime of an entry, a century: an entry without one lasts as long as the memory.
const MAX_TTL_SECONDS: u64 = 100 * 366 * 24 * 3_600;

/// What a memory capability does.
pub(super) type MemoryFunction = fn(&Memory, &AuthorizedCall) -> CallResult;

/// One memory capability with its argument schema.
struct MemoryTool {
    function: MemoryFunction,
    id: &'static str,
    description: &'static str,
    effects: Effects,
    properties: Value,
    required: Value,
}

/// Put, get, recall, delete, each with what it does.
pub(super) fn memory_capabilities() -> Vec<(Capability, MemoryFunction)> {
    let key = json!({ "type": "string", "minLength": 1, "maxLength": 256 });
    let kind = json!({ "enum": ["value", "fact", "episode"] });
    let text_schema = |most: u32| json!({ "type": "string", "maxLength": most });
    let put = json!({
        "key": key, "value": {}, "kind": kind, "source": text_schema(900),
        "ttl_s": { "type": "number", "minimum": 0, "maximum": MAX_TTL_SECONDS },
    });
    let key_and_kind = json!({ "key": key, "kind": kind });
    let tools = [
        MemoryTool {
            function: super::put,
            id: "kernel.memory.put",
            description: "Remember a value, a fact or an episode under a key, for later sessions",
            effects: Effects::WRITE_LOCAL,
            properties: put,
            required: json!(["value"]),
        },
        MemoryTool {
            function: super::get,
            id: "kernel.memory.get",
            description: "Return what is remembered under a key",
            effects: Effects::READ_LOCAL,
            properties: key_and_kind.clone(),
            required: json!(["key"]),
        },
        MemoryTool {
            function: super::recall,
            id: "kernel.memory.recall",
            description: "Return the facts and episodes that are relevant to a query",
            effects: Effects::READ_LOCAL,
            properties: json!({ "query": text_schema(4_000) }),
            required: json!(["query"]),
        },
        MemoryTool {
            function: super::delete,
            id: "kernel.memory.delete",
            description: "Forget what is remembered under a key, for good",
            effects: Effects::DESTROY_LOCAL,
            properties: key_and_kind,
            required: json!(["key"]),
        },
    ];
    tools.into_iter().filter_map(|tool| Some((build(&tool)?, tool.function))).collect()
}

/// Constants that always build; a test ensures that all four do.
fn build(tool: &MemoryTool) -> Option<Capability> {
    let MemoryTool { id, description, effects, properties, required, .. } = tool;
    let schema = json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    });
    let draft = CapabilityDraft {
        description: (*description).to_owned(),
        sink: Some(if effects.impact == Impact::Destroy {
            SinkKind::Destructive
        } else {
            SinkKind::None
        }),
        input_schema: Some(schema.into()),
        sensitivity: [SensitivityTag::Memory].into_iter().collect(),
        tags: ["memory".to_owned()].into_iter().collect(),
        // Each result brings the label of its entries, which makes this stricter.
        output_label: Label::new(Confidentiality::Internal, Integrity::Trusted),
        ..CapabilityDraft::new(CapabilityId::parse(id).ok()?, *id, *effects, AllowedAgents::Any)
    };
    draft.build().ok()
}
