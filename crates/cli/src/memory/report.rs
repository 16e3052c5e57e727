//! Converts entries to JSON and to lines.

use contextweaver::memory::{Claim, Fact, MemoryEntry};
use serde_json::{Value, json};
use weaver_text::escape;

/// The longest value in one line, in characters.
const MAX_VALUE_CHARS: usize = 60;

/// The JSON of an entry that is no fact.
pub(super) fn entry_json(entry: &MemoryEntry) -> Value {
    let mut json = entry_fields(entry);
    insert(&mut json, "id", json!(entry.entry_id()));
    insert(&mut json, "tier", json!(entry.tier.as_str()));
    insert(&mut json, "kind", json!(entry.kind.as_str()));
    insert(&mut json, "key", json!(entry.key));
    json
}

/// The JSON of a fact with all its claims.
pub(super) fn fact_json(fact: &Fact) -> Value {
    let id = fact.claims.first().map(|claim| claim.entry.entry_id());
    json!({
        "id": id,
        "tier": "durable",
        "kind": "fact",
        "key": fact.key,
        "value": fact.value(),
        "contradicted": fact.is_contradicted(),
        "label": fact.label(),
        "claims": fact.claims.iter().map(claim_json).collect::<Vec<_>>(),
    })
}

fn claim_json(claim: &Claim) -> Value {
    let mut json = entry_fields(&claim.entry);
    insert(&mut json, "number", json!(claim.number));
    if let Some(gone) = &claim.superseded {
        let at = gone.at.rfc3339();
        insert(&mut json, "superseded", json!({ "by": gone.by, "at": at, "why": gone.why }));
    }
    json
}

fn entry_fields(entry: &MemoryEntry) -> Value {
    json!({
        "value": entry.value,
        "source": entry.source,
        "confidence": entry.confidence.as_f64(),
        "created_at": entry.created_at.rfc3339(),
        "ttl_s": entry.ttl.map(|ttl| ttl.as_secs_f64()),
        "expires_at": entry.expires_at().map(|at| at.rfc3339()),
        "label": entry.label,
        "origin": entry.origin,
    })
}

fn insert(json: &mut Value, key: &str, value: Value) {
    if let Some(json) = json.as_object_mut() {
        json.insert(key.to_owned(), value);
    }
}

/// One line of a list, from the JSON of an entry.
pub(super) fn entry_line(json: &Value) -> String {
    let text = |key: &str| json.get(key).and_then(Value::as_str).unwrap_or_default();
    let untrusted = json.pointer("/label/integrity").and_then(Value::as_str) == Some("untrusted");
    let mark = if untrusted { "untrusted" } else { "trusted" };
    let shown = match json.get("contradicted") {
        Some(Value::Bool(true)) => "(contradicted)".to_owned(),
        _ => value_text(json.get("value").unwrap_or(&Value::Null)),
    };
    let shown = escape::shorten(&shown, MAX_VALUE_CHARS).into_owned();
    let (kind, key) = (text("kind"), escape::line(text("key")).into_owned());
    format!("{kind:<7} {mark:<9} {key}  {}\n", escape::line(&shown))
}

/// A value as text: a string as it is, anything else as JSON.
pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
