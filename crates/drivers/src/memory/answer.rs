//! Results of memory calls, with the labels of their content.

use contextweaver::memory::{EntryKind, Fact, MemoryEntry, RecallResult, Tier};
use serde_json::{Value, json};
use weaver_types::RawResult;

pub(super) fn stored(tier: Tier, kind: EntryKind, key: &str) -> RawResult {
    let id = format!("mem_{}_{key}", tier.abbreviation());
    RawResult::json(json!({ "remembered": id, "kind": kind.as_str() }))
}

pub(super) fn delete_result(was_there: bool) -> RawResult {
    RawResult::json(json!({ "deleted": was_there }))
}

pub(super) fn not_found() -> RawResult {
    RawResult::json(json!({ "found": false }))
}

pub(super) fn entry_result(entry: MemoryEntry) -> RawResult {
    let mut result = entry_json(&entry);
    if let Some(result) = result.as_object_mut() {
        result.insert("found".to_owned(), json!(true));
        result.insert("id".to_owned(), json!(entry.entry_id()));
    }
    RawResult::json(result).labelled(entry.label)
}

pub(super) fn fact_result(fact: Fact) -> RawResult {
    let label = fact.label();
    let claims: Vec<Value> = fact.current_claims().map(|claim| entry_json(&claim.entry)).collect();
    RawResult::json(json!({
        "found": true,
        "key": fact.key,
        "value": fact.value(),
        "contradicted": fact.is_contradicted(),
        "claims": claims,
    }))
    .labelled(label)
}

pub(super) fn recall_result(recalled: RecallResult) -> RawResult {
    let lines: Vec<&str> = recalled.items.iter().map(|item| item.text()).collect();
    // Text, so that the first frame shows the memories instead of a summary of structure.
    RawResult::text(lines.join("\n")).labelled(recalled.label)
}

fn entry_json(entry: &MemoryEntry) -> Value {
    json!({
        "key": entry.key,
        "value": entry.value,
        "source": entry.source,
        "confidence": entry.confidence.as_f64(),
        "created_at": entry.created_at.rfc3339(),
    })
}
