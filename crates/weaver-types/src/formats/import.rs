//! Tool lists as capability drafts.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::error::ImportError;
use super::gemini::from_gemini;
use super::upstream::upstream_digest;
use super::{Format, name};
use crate::capability::{Agents, CapabilityDraft};
use crate::digest::{Digest, Tag};
use crate::effects::{Effects, Impact, World};
use crate::id::CapabilityId;

/// A tool definition as a draft of the capability that it proposes to be, under this id, open to
/// every agent. Only MCP says what a tool does; where a list says nothing, the effects are the
/// most dangerous. What it says is a proposal that a signed contract confirms or not: the draft has
/// the digest of what was said, by which it counts as the word of a server and not of a host.
#[must_use]
pub fn draft(format: Format, id: CapabilityId, tool: &Value) -> CapabilityDraft {
    let inner = inner(format, tool);
    let text = |key: &str| inner.get(key).and_then(Value::as_str).map(str::to_owned);
    let (name, effects) = (text("name").unwrap_or_default(), effects(format, inner));
    let schema = match format {
        Format::Mcp => inner.get("inputSchema").cloned(),
        Format::Anthropic => inner.get("input_schema").cloned(),
        Format::OpenAiResponses | Format::OpenAiChat => inner.get("parameters").cloned(),
        Format::Gemini => inner
            .get("parametersJsonSchema")
            .cloned()
            .or_else(|| inner.get("parameters").map(|schema| from_gemini(schema, 0))),
    };
    let mcp = |key: &str| (format == Format::Mcp).then(|| inner.get(key)).flatten();
    let idempotent = mcp("annotations").and_then(|said| said.get("idempotentHint"));
    CapabilityDraft {
        title: mcp("title").and_then(Value::as_str).map(str::to_owned),
        description: text("description").unwrap_or_default(),
        input_schema: schema.map(Arc::new),
        output_schema: mcp("outputSchema").cloned().map(Arc::new),
        idempotent: idempotent == Some(&Value::Bool(true)),
        upstream_digest: Some(said_by(format, tool)),
        ..CapabilityDraft::new(id, name, effects, Agents::Any)
    }
}

/// The digest of what was said: as a gateway takes it of MCP's definitions, of the whole definition
/// in any other format, and of its text where it has no canonical form.
fn said_by(format: Format, tool: &Value) -> Digest {
    let whole = || Digest::of(Tag::UPSTREAM, tool.to_string().as_bytes());
    match format {
        Format::Mcp => upstream_digest(tool, None).unwrap_or_else(|_| whole()),
        _ => whole(),
    }
}

/// The drafts of a whole list: an array of definitions, MCP's `{"tools": […]}`, Gemini's
/// `[{"functionDeclarations": […]}]`. With a namespace, ids are `<namespace>.<name>`; without one, a
/// name that spells an id becomes that id, so that what [`ToolSet`](super::ToolSet) wrote leads
/// back.
#[must_use]
pub fn drafts(
    format: Format,
    namespace: Option<&str>,
    tools: &Value,
) -> Vec<Result<CapabilityDraft, ImportError>> {
    let list = tools.get("tools").unwrap_or(tools);
    let entries = list.as_array().into_iter().flatten().flat_map(|entry| {
        match entry.get("functionDeclarations").and_then(Value::as_array) {
            Some(declared) if format == Format::Gemini => declared.iter().collect(),
            _ => vec![entry],
        }
    });
    let entries = entries.enumerate();
    entries.map(|(at, tool)| read(format, namespace, at, tool)).collect()
}

fn read(
    format: Format,
    namespace: Option<&str>,
    at: usize,
    tool: &Value,
) -> Result<CapabilityDraft, ImportError> {
    let kind = tool.get("type").and_then(Value::as_str);
    let openai = matches!(format, Format::OpenAiResponses | Format::OpenAiChat);
    if openai && kind != Some("function") {
        let problem =
            "its type is not `function`: the provider runs it, and nothing is called here";
        return Err(ImportError::Shape { at, problem });
    }
    let Some(named) = inner(format, tool).get("name").and_then(Value::as_str) else {
        return Err(ImportError::Shape { at, problem: "it has no name" });
    };
    let id = match namespace {
        Some(namespace) => CapabilityId::parse(format!("{namespace}.{named}")),
        None => name::spelled(format, named).map_or_else(|| CapabilityId::parse(named), Ok),
    };
    let id = id.map_err(|problem| ImportError::Name { at, problem })?;
    Ok(draft(format, id, tool))
}

/// What describes the function.
fn inner(format: Format, tool: &Value) -> &Value {
    match format {
        Format::OpenAiChat => tool.get("function").unwrap_or(tool),
        Format::Mcp | Format::OpenAiResponses | Format::Anthropic | Format::Gemini => tool,
    }
}

/// What the annotations say, with MCP's defaults: destructive and open unless said otherwise.
fn effects(format: Format, tool: &Value) -> Effects {
    if format != Format::Mcp {
        return Effects::UNDECLARED;
    }
    let empty = Map::new();
    let annotations = tool.get("annotations").and_then(Value::as_object).unwrap_or(&empty);
    let said = |key: &str| annotations.get(key).and_then(Value::as_bool);
    // Whoever says both is believed in the worse.
    let impact = match (said("readOnlyHint"), said("destructiveHint")) {
        (_, Some(true)) => Impact::Destroy,
        (Some(true), _) => Impact::Read,
        (_, Some(false)) => Impact::Write,
        (_, None) => Impact::Destroy,
    };
    let world = if said("openWorldHint") == Some(false) { World::Closed } else { World::Open };
    Effects { impact, world }
}
