//! Imports tool lists as capability drafts.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::error::ImportError;
use super::gemini::from_gemini;
use super::upstream::upstream_digest;
use super::{ToolFormat, name};
use crate::capability::{AllowedAgents, CapabilityDraft};
use crate::digest::{Digest, DomainTag};
use crate::effects::{Effects, Impact, World};
use crate::id::CapabilityId;

/// The draft that a tool definition proposes, under this id, open to every agent. Only MCP
/// definitions describe effects; when nothing is declared, the most dangerous ones are assumed. All
/// of it is a proposal that a signed contract may confirm: the draft carries the digest of the
/// definition, which marks it as a server's statement and not a host's.
#[must_use]
pub fn draft_from_tool(format: ToolFormat, id: CapabilityId, tool: &Value) -> CapabilityDraft {
    let inner = inner(format, tool);
    let text = |key: &str| inner.get(key).and_then(Value::as_str).map(str::to_owned);
    let (name, effects) = (text("name").unwrap_or_default(), effects(format, inner));
    let schema = match format {
        ToolFormat::Mcp => inner.get("inputSchema").cloned(),
        ToolFormat::Anthropic => inner.get("input_schema").cloned(),
        ToolFormat::OpenAiResponses | ToolFormat::OpenAiChat => inner.get("parameters").cloned(),
        ToolFormat::Gemini => inner
            .get("parametersJsonSchema")
            .cloned()
            .or_else(|| inner.get("parameters").map(|schema| from_gemini(schema, 0))),
    };
    let mcp = |key: &str| (format == ToolFormat::Mcp).then(|| inner.get(key)).flatten();
    let idempotent = mcp("annotations").and_then(|hints| hints.get("idempotentHint"));
    CapabilityDraft {
        title: mcp("title").and_then(Value::as_str).map(str::to_owned),
        description: text("description").unwrap_or_default(),
        input_schema: schema.map(Arc::new),
        output_schema: mcp("outputSchema").cloned().map(Arc::new),
        idempotent: idempotent == Some(&Value::Bool(true)),
        upstream_digest: Some(definition_digest(format, tool)),
        ..CapabilityDraft::new(id, name, effects, AllowedAgents::Any)
    }
}

/// The digest of a definition: for MCP the one that the gateway pins, for other formats over the
/// whole definition; over its plain text if it has no canonical form.
fn definition_digest(format: ToolFormat, tool: &Value) -> Digest {
    let whole = || Digest::of(DomainTag::UPSTREAM, tool.to_string().as_bytes());
    match format {
        ToolFormat::Mcp => upstream_digest(tool, None).unwrap_or_else(|_| whole()),
        _ => whole(),
    }
}

/// The drafts of a whole list: an array of definitions, MCP's `{"tools": […]}`, or Gemini's
/// `[{"functionDeclarations": […]}]`. With a namespace, ids are `<namespace>.<name>`. Without one,
/// a name that encodes an id becomes that id, so that a list written by [`ToolSet`](super::ToolSet)
/// leads back.
#[must_use]
pub fn drafts_from_tools(
    format: ToolFormat,
    namespace: Option<&str>,
    tools: &Value,
) -> Vec<Result<CapabilityDraft, ImportError>> {
    let list = tools.get("tools").unwrap_or(tools);
    let entries = list.as_array().into_iter().flatten().flat_map(|entry| {
        match entry.get("functionDeclarations").and_then(Value::as_array) {
            Some(declared) if format == ToolFormat::Gemini => declared.iter().collect(),
            _ => vec![entry],
        }
    });
    let entries = entries.enumerate();
    entries.map(|(at, tool)| read(format, namespace, at, tool)).collect()
}

fn read(
    format: ToolFormat,
    namespace: Option<&str>,
    at: usize,
    tool: &Value,
) -> Result<CapabilityDraft, ImportError> {
    let kind = tool.get("type").and_then(Value::as_str);
    let openai = matches!(format, ToolFormat::OpenAiResponses | ToolFormat::OpenAiChat);
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
        None => {
            name::id_from_plain_name(format, named).map_or_else(|| CapabilityId::parse(named), Ok)
        }
    };
    let id = id.map_err(|problem| ImportError::Name { at, problem })?;
    Ok(draft_from_tool(format, id, tool))
}

/// The object that describes the function.
fn inner(format: ToolFormat, tool: &Value) -> &Value {
    match format {
        ToolFormat::OpenAiChat => tool.get("function").unwrap_or(tool),
        ToolFormat::Mcp
        | ToolFormat::OpenAiResponses
        | ToolFormat::Anthropic
        | ToolFormat::Gemini => tool,
    }
}

/// The effects that the annotations state, with MCP's defaults: destructive and open world.
fn effects(format: ToolFormat, tool: &Value) -> Effects {
    if format != ToolFormat::Mcp {
        return Effects::UNDECLARED;
    }
    let empty = Map::new();
    let annotations = tool.get("annotations").and_then(Value::as_object).unwrap_or(&empty);
    let hint = |key: &str| annotations.get(key).and_then(Value::as_bool);
    // Contradictory hints count as the worse one.
    let impact = match (hint("readOnlyHint"), hint("destructiveHint")) {
        (_, Some(true)) => Impact::Destroy,
        (Some(true), _) => Impact::Read,
        (_, Some(false)) => Impact::Write,
        (_, None) => Impact::Destroy,
    };
    let world = if hint("openWorldHint") == Some(false) { World::Closed } else { World::Open };
    Effects { impact, world }
}
