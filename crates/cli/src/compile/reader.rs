//! Reads the items of a log, one JSON object a line.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use contextweaver::compile::{
    ContextItem, ContextItemKind, ContextLog, StructuredCall, ToolOutput, item_from_output,
};
use serde_json::{Map, Value};
use weaver_text::{escape, suggest, token::TokenCounter};
use weaver_types::canonical::{self, Profile};
use weaver_types::{CallId, CapabilityId, Confidentiality, Label, RawResult};

use super::firewall::LogFirewall;
use crate::{Exit, Failure, input};

/// The largest log, in bytes.
const MAX_INPUT_BYTES: usize = 512 * 1024 * 1024;
/// The keys that are read of a line; others are ignored.
const KEYS: [&str; 6] = ["id", "kind", "text", "parent_id", "sensitivity", "metadata"];
const FORMAT_HINT: &str = "write {\"id\", \"kind\", \"text\"} with \"parent_id\", \"sensitivity\" and \
    \"metadata\" where needed, one object a line";

/// A field, and what is wrong with it.
type FieldProblem = (&'static str, String);

pub(super) fn read_log(path: &Path, counter: Arc<dyn TokenCounter>) -> Result<ContextLog, Failure> {
    let text = input::read_text(path, MAX_INPUT_BYTES)
        .map_err(|error| input::unreadable(path, "compile.unreadable", error))?;
    // Editors may put a byte-order mark before the first line.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let gate = LogFirewall::new()?;
    let mut log = ContextLog::new(counter);
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = || format!("{}:{}", path.display(), number + 1);
        let item = parse_item(line, &gate).map_err(|(field, message)| {
            let message = format!("{}: {field}: {message}", place());
            Failure::new(Exit::Invalid, "compile.item", message).with_next_step(FORMAT_HINT)
        })?;
        log.push(item).map_err(|error| {
            let field = match error.code() {
                "context.duplicate" => "id",
                "context.cycle" => "parent_id",
                _ => "text",
            };
            Failure::new(Exit::Invalid, error.code(), format!("{}: {field}: {error}", place()))
        })?;
    }
    Ok(log)
}

fn parse_item(line: &str, gate: &LogFirewall) -> Result<ContextItem, FieldProblem> {
    let value = canonical::parse(line.as_bytes(), Profile::Foreign);
    let value = value.map_err(|error| ("line", error.to_string()))?;
    let Value::Object(fields) = value else { return Err(("line", "no JSON object".to_owned())) };
    reject_misspelt_keys(&fields)?;
    let id = required(&fields, "id")?.to_owned();
    if id.is_empty() {
        return Err(("id", "empty".to_owned()));
    }
    let kind = parse_kind(required(&fields, "kind")?)?;
    let text = required(&fields, "text")?.to_owned();
    let parent = optional(&fields, "parent_id")?.map(str::to_owned);
    let confidentiality = parse_confidentiality(&fields)?;
    let metadata = metadata_object(&fields)?;
    let item = build_item(kind, id, text, parent, confidentiality, &metadata, gate);
    let item = item.with_tags(parse_tags(&metadata)?);
    let item = match parse_call(&metadata, item.id())? {
        Some(call) => item.with_call(call),
        None => item,
    };
    Ok(match metadata.get("pinned") {
        Some(Value::Bool(true)) => item.pin(),
        None | Some(Value::Bool(false) | Value::Null) => item,
        Some(_) => return Err(("metadata", "`pinned` is neither true nor false".to_owned())),
    })
}

fn build_item(
    kind: ContextItemKind,
    id: String,
    text: String,
    parent: Option<String>,
    confidentiality: Option<Confidentiality>,
    metadata: &Map<String, Value>,
    gate: &LogFirewall,
) -> ContextItem {
    let item_metadata: BTreeMap<String, Value> =
        metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let make = match kind {
        ContextItemKind::ToolResult => {
            let result = match serde_json::from_str(&text) {
                Ok(value @ (Value::Object(_) | Value::Array(_))) => RawResult::json(value),
                _ => RawResult::text(text),
            };
            let label = Label {
                confidentiality: confidentiality.unwrap_or(LOWEST_CONFIDENTIALITY),
                ..Label::clean()
            };
            let output = ToolOutput { id, call: parent, result, label, metadata: item_metadata };
            return item_from_output(output, Some(gate));
        }
        ContextItemKind::UserTurn => ContextItem::user_turn,
        ContextItemKind::AgentMessage => ContextItem::agent_message,
        ContextItemKind::ToolCall => ContextItem::call_text,
        ContextItemKind::Doc => ContextItem::doc,
        ContextItemKind::RetrievedDoc => ContextItem::retrieved_doc,
        ContextItemKind::MemoryFact => ContextItem::memory_fact,
        ContextItemKind::PlanState => ContextItem::plan_state,
        ContextItemKind::Policy => ContextItem::policy,
        ContextItemKind::ToolCard => ContextItem::tool_card,
    };
    let mut item: ContextItem = make(id, text);
    if let Some(confidentiality) = confidentiality {
        let label = Label { confidentiality, ..item.label().clone() };
        item = item.with_label(label);
    }
    if let Some(parent) = parent {
        item = item.with_parent(parent);
    }
    item_metadata.into_iter().fold(item, |item, (key, value)| item.with_metadata(key, value))
}

const LOWEST_CONFIDENTIALITY: Confidentiality = Confidentiality::Public;

/// Rejects a key that nearly matches a known one. Ignoring it could lose a restriction such as a
/// sensitivity.
fn reject_misspelt_keys(fields: &Map<String, Value>) -> Result<(), FieldProblem> {
    for key in fields.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        if let Some(meant) = suggest::nearest(key, KEYS.into_iter().filter(|k| k.len() > 3)) {
            let key = escape::excerpt(key, 64);
            return Err((meant, format!("unknown key `{key}`: did you mean `{meant}`?")));
        }
    }
    Ok(())
}

fn optional<'a>(
    fields: &'a Map<String, Value>,
    name: &'static str,
) -> Result<Option<&'a str>, FieldProblem> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err((name, "not a text".to_owned())),
    }
}

fn required<'a>(
    fields: &'a Map<String, Value>,
    name: &'static str,
) -> Result<&'a str, FieldProblem> {
    optional(fields, name)?.ok_or_else(|| (name, "missing".to_owned()))
}

fn parse_kind(word: &str) -> Result<ContextItemKind, FieldProblem> {
    ContextItemKind::parse(word).ok_or_else(|| {
        let all: Vec<&str> = ContextItemKind::ALL.iter().map(|kind| kind.as_str()).collect();
        let word = escape::excerpt(word, 64);
        ("kind", format!("`{word}` is none of {}", all.join(", ")))
    })
}

fn parse_confidentiality(
    fields: &Map<String, Value>,
) -> Result<Option<Confidentiality>, FieldProblem> {
    let Some(word) = optional(fields, "sensitivity")? else { return Ok(None) };
    serde_json::from_value(Value::String(word.to_owned())).map(Some).map_err(|_| {
        let word = escape::excerpt(word, 64);
        let all = "public, internal, confidential, restricted";
        ("sensitivity", format!("`{word}` is none of {all}"))
    })
}

fn metadata_object(fields: &Map<String, Value>) -> Result<Map<String, Value>, FieldProblem> {
    match fields.get("metadata") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map.clone()),
        Some(_) => Err(("metadata", "not an object".to_owned())),
    }
}

/// The call itself, for providers with native tool calls.
fn parse_call(
    metadata: &Map<String, Value>,
    item: &str,
) -> Result<Option<StructuredCall>, FieldProblem> {
    let wrong = |what: String| ("metadata", format!("`call`: {what}"));
    let Some(call) = metadata.get("call").filter(|call| !call.is_null()) else { return Ok(None) };
    let word = |key: &str| call.get(key).and_then(Value::as_str);
    let name = word("name").ok_or_else(|| wrong("it has no `name`".to_owned()))?;
    let id = CallId::parse(word("id").unwrap_or(item)).map_err(|e| wrong(e.to_string()))?;
    let capability = CapabilityId::parse(name).map_err(|e| wrong(e.to_string()))?;
    match call.get("arguments") {
        Some(arguments @ Value::Object(_)) => {
            Ok(Some(StructuredCall { id, capability, arguments: arguments.clone() }))
        }
        _ => Err(wrong("it has no `arguments`, an object".to_owned())),
    }
}

fn parse_tags(metadata: &Map<String, Value>) -> Result<Vec<String>, FieldProblem> {
    let wrong = || ("metadata", "`tags` is not a list of texts".to_owned());
    match metadata.get("tags") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(tags)) => {
            tags.iter().map(|tag| tag.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}
