//! The answer to a memory call, with the label of its content.

use contextweaver::memory::{EntryKind, Fact, MemoryEntry, RecallResult, Tier};
use serde_json::{Value, json};
use weaver_types::RawResult;

pub(super) fn remembered(tier: Tier, kind: EntryKind, key: &str) -> RawResult {
    let id = format!("mem_{}_{key}", tier.short());
    RawResult::json(json!({ "remembered": id, "kind": kind.as_str() }))
}

pub(super) fn forgotten(was_there: bool) -> RawResult {
    RawResult::json(json!({ "deleted": was_there }))
}

pub(super) fn nothing() -> RawResult {
    RawResult::json(json!({ "found": false }))
}

pub(super) fn entry(entry: MemoryEntry) -> RawResult {
    let mut told = said(&entry);
    if let Some(told) = told.as_object_mut() {
        told.insert("found".to_owned(), json!(true));
        told.insert("id".to_owned(), json!(entry.entry_id()));
    }
    RawResult::json(told).labelled(entry.label)
}

pub(super) fn fact(fact: Fact) -> RawResult {
    let label = fact.label();
    let claims: Vec<Value> = fact.standing().map(|claim| said(&claim.entry)).collect();
    RawResult::json(json!({
        "found": true,
        "key": fact.key,
        "value": fact.value(),
        "contradicted": fact.is_contradicted(),
        "claims": claims,
    }))
    .labelled(label)
}

pub(super) fn recalled(recalled: RecallResult) -> RawResult {
    let lines: Vec<&str> = recalled.items.iter().map(|item| item.text()).collect();
    // A text, so that the first frame shows what is remembered, and not that there is something.
    RawResult::text(lines.join("\n")).labelled(recalled.label)
}

fn said(entry: &MemoryEntry) -> Value {
    json!({
        "key": entry.key,
        "value": entry.value,
        "source": entry.source,
        "confidence": entry.confidence.as_f64(),
        "created_at": entry.created_at.rfc3339(),
    })
}
