//! Entries as JSON and as lines.

use contextweaver::memory::{Claim, Fact, MemoryEntry};
use serde_json::{Value, json};
use weaver_text::escape;

/// The longest value that one line shows, in characters.
const MAX_SHOWN: usize = 60;

/// An entry that is no fact.
pub(super) fn entry(entry: &MemoryEntry) -> Value {
    let mut told = said(entry);
    put(&mut told, "id", json!(entry.entry_id()));
    put(&mut told, "tier", json!(entry.tier.as_str()));
    put(&mut told, "kind", json!(entry.kind.as_str()));
    put(&mut told, "key", json!(entry.key));
    told
}

/// A fact with all its claims.
pub(super) fn fact(fact: &Fact) -> Value {
    let id = fact.claims.first().map(|claim| claim.entry.entry_id());
    json!({
        "id": id,
        "tier": "durable",
        "kind": "fact",
        "key": fact.key,
        "value": fact.value(),
        "contradicted": fact.is_contradicted(),
        "label": fact.label(),
        "claims": fact.claims.iter().map(claim).collect::<Vec<_>>(),
    })
}

fn claim(claim: &Claim) -> Value {
    let mut told = said(&claim.entry);
    put(&mut told, "number", json!(claim.number));
    if let Some(gone) = &claim.superseded {
        let at = gone.at.rfc3339();
        put(&mut told, "superseded", json!({ "by": gone.by, "at": at, "why": gone.why }));
    }
    told
}

fn said(entry: &MemoryEntry) -> Value {
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

fn put(told: &mut Value, key: &str, value: Value) {
    if let Some(told) = told.as_object_mut() {
        told.insert(key.to_owned(), value);
    }
}

/// One line of a list, from the JSON of an entry.
pub(super) fn line(told: &Value) -> String {
    let text = |key: &str| told.get(key).and_then(Value::as_str).unwrap_or_default();
    let untrusted = told.pointer("/label/integrity").and_then(Value::as_str) == Some("untrusted");
    let mark = if untrusted { "untrusted" } else { "trusted" };
    let shown = match told.get("contradicted") {
        Some(Value::Bool(true)) => "(contradicted)".to_owned(),
        _ => value(told.get("value").unwrap_or(&Value::Null)),
    };
    let shown = escape::shorten(&shown, MAX_SHOWN).into_owned();
    let (kind, key) = (text("kind"), escape::line(text("key")).into_owned());
    format!("{kind:<7} {mark:<9} {key}  {}\n", escape::line(&shown))
}

/// A value as a text: strings as they are, everything else as JSON.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
