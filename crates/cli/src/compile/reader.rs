//! The items of a log, one JSON object a line.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use contextweaver::compile::{CallMade, ContextItem, ContextLog, ItemKind, ToolOutput, admit};
use serde_json::{Map, Value};
use weaver_gateway::bounded_file;
use weaver_text::{escape, suggest, token::TokenCounter};
use weaver_types::canonical::{self, Profile};
use weaver_types::{CallId, CapabilityId, Confidentiality, Label, RawResult};

use super::firewall::Gate;
use crate::{Exit, Failure};

/// The largest log, in bytes.
const MAX_INPUT: usize = 512 * 1024 * 1024;
/// What is read of a line; the rest is left alone.
const KEYS: [&str; 6] = ["id", "kind", "text", "parent_id", "sensitivity", "metadata"];
const NEXT: &str = "write {\"id\", \"kind\", \"text\"} with \"parent_id\", \"sensitivity\" and \
    \"metadata\" where needed, one object a line";

/// What is wrong, and in which field.
type FieldProblem = (&'static str, String);

pub(super) fn read(path: &Path, counter: Arc<dyn TokenCounter>) -> Result<ContextLog, Failure> {
    let text = text(path)?;
    // Editors put a mark before the first line.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let gate = Gate::new()?;
    let mut log = ContextLog::new(counter);
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = || format!("{}:{}", path.display(), number + 1);
        let item = item(line, &gate).map_err(|(field, message)| {
            let message = format!("{}: {field}: {message}", place());
            Failure::new(Exit::Invalid, "compile.item", message).next(NEXT)
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

fn text(path: &Path) -> Result<String, Failure> {
    let read = if path.as_os_str() == "-" {
        bounded_file::all(io::stdin().lock(), MAX_INPUT).and_then(|bytes| {
            String::from_utf8(bytes).map_err(|_| bounded_file::ReadError::NotText)
        })
    } else {
        bounded_file::text(path, MAX_INPUT)
    };
    read.map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(Exit::Invalid, "compile.unreadable", message).next("name a file, or `-`")
    })
}

fn item(line: &str, gate: &Gate) -> Result<ContextItem, FieldProblem> {
    let value = canonical::parse(line.as_bytes(), Profile::Foreign);
    let value = value.map_err(|error| ("line", error.to_string()))?;
    let Value::Object(fields) = value else { return Err(("line", "no JSON object".to_owned())) };
    misspelt(&fields)?;
    let id = required(&fields, "id")?.to_owned();
    if id.is_empty() {
        return Err(("id", "empty".to_owned()));
    }
    let kind = kind(required(&fields, "kind")?)?;
    let text = required(&fields, "text")?.to_owned();
    let parent = optional(&fields, "parent_id")?.map(str::to_owned);
    let level = level(&fields)?;
    let metadata = metadata(&fields)?;
    let item = made(kind, id, text, parent, level, &metadata, gate);
    let item = item.with_tags(tags(&metadata)?);
    let item = match call(&metadata, item.id())? {
        Some(call) => item.with_call(call),
        None => item,
    };
    Ok(match metadata.get("pinned") {
        Some(Value::Bool(true)) => item.pin(),
        None | Some(Value::Bool(false) | Value::Null) => item,
        Some(_) => return Err(("metadata", "`pinned` is neither true nor false".to_owned())),
    })
}

fn made(
    kind: ItemKind,
    id: String,
    text: String,
    parent: Option<String>,
    level: Option<Confidentiality>,
    metadata: &Map<String, Value>,
    gate: &Gate,
) -> ContextItem {
    let kept: BTreeMap<String, Value> =
        metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let make = match kind {
        ItemKind::ToolResult => {
            let result = match serde_json::from_str(&text) {
                Ok(value @ (Value::Object(_) | Value::Array(_))) => RawResult::json(value),
                _ => RawResult::text(text),
            };
            let label = Label { confidentiality: level.unwrap_or(LEAST), ..Label::clean() };
            let output = ToolOutput { id, call: parent, result, label, metadata: kept };
            return admit(output, Some(gate));
        }
        ItemKind::UserTurn => ContextItem::user_turn,
        ItemKind::AgentMessage => ContextItem::agent_message,
        ItemKind::ToolCall => ContextItem::call_text,
        ItemKind::Doc => ContextItem::doc,
        ItemKind::RetrievedDoc => ContextItem::retrieved_doc,
        ItemKind::MemoryFact => ContextItem::memory_fact,
        ItemKind::PlanState => ContextItem::plan_state,
        ItemKind::Policy => ContextItem::policy,
        ItemKind::ToolCard => ContextItem::tool_card,
    };
    let mut item: ContextItem = make(id, text);
    if let Some(confidentiality) = level {
        let label = Label { confidentiality, ..item.label().clone() };
        item = item.with_label(label);
    }
    if let Some(parent) = parent {
        item = item.with_parent(parent);
    }
    kept.into_iter().fold(item, |item, (key, value)| item.with_metadata(key, value))
}

const LEAST: Confidentiality = Confidentiality::Public;

/// A key that is nearly one of ours would be lost otherwise, and with it a limit.
fn misspelt(fields: &Map<String, Value>) -> Result<(), FieldProblem> {
    for key in fields.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        if let Some(meant) = suggest::nearest(key, KEYS.into_iter().filter(|k| k.len() > 3)) {
            let key = escape::line(escape::truncate(key, 64)).into_owned();
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

fn kind(word: &str) -> Result<ItemKind, FieldProblem> {
    ItemKind::parse(word).ok_or_else(|| {
        let all: Vec<&str> = ItemKind::ALL.iter().map(|kind| kind.as_str()).collect();
        let word = escape::line(escape::truncate(word, 64)).into_owned();
        ("kind", format!("`{word}` is none of {}", all.join(", ")))
    })
}

fn level(fields: &Map<String, Value>) -> Result<Option<Confidentiality>, FieldProblem> {
    let Some(word) = optional(fields, "sensitivity")? else { return Ok(None) };
    serde_json::from_value(Value::String(word.to_owned())).map(Some).map_err(|_| {
        let word = escape::line(escape::truncate(word, 64)).into_owned();
        let all = "public, internal, confidential, restricted";
        ("sensitivity", format!("`{word}` is none of {all}"))
    })
}

fn metadata(fields: &Map<String, Value>) -> Result<Map<String, Value>, FieldProblem> {
    match fields.get("metadata") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map.clone()),
        Some(_) => Err(("metadata", "not an object".to_owned())),
    }
}

/// The call itself, for providers that want it so.
fn call(metadata: &Map<String, Value>, item: &str) -> Result<Option<CallMade>, FieldProblem> {
    let wrong = |what: String| ("metadata", format!("`call`: {what}"));
    let Some(call) = metadata.get("call").filter(|call| !call.is_null()) else { return Ok(None) };
    let word = |key: &str| call.get(key).and_then(Value::as_str);
    let name = word("name").ok_or_else(|| wrong("it has no `name`".to_owned()))?;
    let id = CallId::parse(word("id").unwrap_or(item)).map_err(|e| wrong(e.to_string()))?;
    let capability = CapabilityId::parse(name).map_err(|e| wrong(e.to_string()))?;
    match call.get("arguments") {
        Some(arguments @ Value::Object(_)) => {
            Ok(Some(CallMade { id, capability, arguments: arguments.clone() }))
        }
        _ => Err(wrong("it has no `arguments`, an object".to_owned())),
    }
}

fn tags(metadata: &Map<String, Value>) -> Result<Vec<String>, FieldProblem> {
    let wrong = || ("metadata", "`tags` is not a list of texts".to_owned());
    match metadata.get("tags") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(tags)) => {
            tags.iter().map(|tag| tag.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}
