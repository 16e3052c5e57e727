//! Parses a model's calls.

use serde_json::{Map, Value};

use super::answer::CallReference;
use super::error::CallError;
use super::{ToolFormat, ToolSet};
use crate::canonical::{self, Profile};
use crate::id::CapabilityId;
use crate::request::{CapabilityRequest, Justification, JustificationSource};

/// The argument in which a model may justify a call, unless the tool has an argument of that name.
pub const JUSTIFICATION_ARGUMENT: &str = "_justification";
/// The longest message that is parsed, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// A parsed call of one of the offered tools.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The provider's id of the call; empty when it has none.
    pub reference: String,
    /// The name by which the tool was called.
    pub name: String,
    /// The capability.
    pub capability_id: CapabilityId,
    /// The arguments in the terms of the capability's own schema. Whatever else they contain (an
    /// `operation`, for example) is data.
    pub arguments: Map<String, Value>,
    /// The justification in the model's words; its source is [`JustificationSource::Model`].
    pub justification: Option<Justification>,
}

impl ToolCall {
    /// The capability request for this call. The goal is whatever the host wants to record; it
    /// never counts as the user's words.
    #[must_use]
    pub fn request(&self, goal: impl Into<String>) -> CapabilityRequest {
        let mut request = CapabilityRequest::new(self.capability_id.clone(), goal);
        request.justification.clone_from(&self.justification);
        request
    }

    /// The call that an answer refers to.
    #[must_use]
    pub fn call_reference(&self) -> CallReference<'_> {
        CallReference { provider_call_id: &self.reference, name: &self.name }
    }
}

/// A call in the provider's form, split into its parts.
struct ProviderCall<'v> {
    reference: String,
    name: &'v str,
    arguments: Option<&'v Value>,
    /// True when the arguments are JSON inside a string.
    arguments_are_text: bool,
}

impl ToolSet {
    /// Parses one call: a `function_call` item (Responses), an entry of `tool_calls` (Chat), a
    /// `tool_use` block (Anthropic), a part with `functionCall` (Gemini), the `params` of
    /// `tools/call` (MCP).
    ///
    /// # Errors
    /// [`CallError`], which can be answered like a call. A duplicate key anywhere and a number that
    /// cannot be kept exactly are refused; 64-bit integers are kept.
    pub fn read(&self, message: &str) -> Result<ToolCall, CallError> {
        self.read_value(&parse_message(message)?)
    }

    /// As [`ToolSet::read`], for every call in a list of items, blocks or parts. Other entries are
    /// skipped.
    ///
    /// # Errors
    /// [`CallError`] when the list itself cannot be parsed.
    pub fn read_all(&self, items: &str) -> Result<Vec<Result<ToolCall, CallError>>, CallError> {
        let items = parse_message(items)?;
        let Some(items) = items.as_array() else {
            return Err(shape("", "this is not a list of items"));
        };
        let calls = items.iter().filter(|item| is_call(self.format, item));
        Ok(calls.map(|item| self.read_value(item)).collect())
    }

    /// As [`ToolSet::read`], for a message that the host has already parsed. Duplicate keys that
    /// the host's parser dropped cannot be detected any more.
    ///
    /// # Errors
    /// As [`ToolSet::read`].
    pub fn read_value(&self, call: &Value) -> Result<ToolCall, CallError> {
        let written = provider_call(self.format, call)?;
        let ProviderCall { reference, name, .. } = &written;
        let (reference, name) = (reference.clone(), (*name).to_owned());
        let Some(id) = self.names.id(&name) else {
            let name = name.escape_debug().take(80).collect();
            return Err(CallError::UnknownTool { reference, name });
        };
        let capability = id.clone();
        let read = if written.arguments_are_text {
            let text = written.arguments.and_then(Value::as_str).unwrap_or_default();
            let text = if text.trim().is_empty() { "{}" } else { text };
            canonical::parse(text.as_bytes(), Profile::Foreign)
        } else {
            let value = written.arguments.cloned().unwrap_or_else(|| Value::Object(Map::new()));
            canonical::to_bytes(&value, Profile::Foreign).map(|_| value)
        };
        let mut arguments = match read {
            Ok(Value::Object(arguments)) => arguments,
            Ok(other) => {
                let found = type_name(&other);
                return Err(CallError::NotAnObject { reference, name, capability, found });
            }
            Err(problem) => {
                return Err(CallError::Arguments { reference, name, capability, problem });
            }
        };
        let mut justification = None;
        if let Some(shape) = self.shapes.get(&capability) {
            if !shape.declares(JUSTIFICATION_ARGUMENT) {
                justification = take_justification(&mut arguments);
            }
            arguments = shape.restore_arguments(arguments);
        }
        Ok(ToolCall { reference, name, capability_id: capability, arguments, justification })
    }
}

/// Removes a model's justification from the arguments.
fn take_justification(arguments: &mut Map<String, Value>) -> Option<Justification> {
    match arguments.remove(JUSTIFICATION_ARGUMENT)? {
        Value::String(text) => Some(Justification { text, source: JustificationSource::Model }),
        other => {
            // Not a string, so it is an argument like any other.
            arguments.insert(JUSTIFICATION_ARGUMENT.to_owned(), other);
            None
        }
    }
}

fn parse_message(message: &str) -> Result<Value, CallError> {
    if message.len() > MAX_MESSAGE_BYTES {
        return Err(CallError::TooLong { length: message.len(), limit: MAX_MESSAGE_BYTES });
    }
    canonical::parse(message.as_bytes(), Profile::Foreign).map_err(CallError::Message)
}

fn shape(reference: &str, problem: &'static str) -> CallError {
    CallError::Shape { reference: reference.to_owned(), problem }
}

fn is_call(format: ToolFormat, item: &Value) -> bool {
    let kind = item.get("type").and_then(Value::as_str);
    match format {
        ToolFormat::OpenAiResponses => kind == Some("function_call"),
        ToolFormat::OpenAiChat => item.get("function").is_some(),
        ToolFormat::Anthropic => kind == Some("tool_use"),
        ToolFormat::Gemini => item.get("functionCall").is_some(),
        ToolFormat::Mcp => item.get("name").is_some(),
    }
}

fn provider_call(format: ToolFormat, call: &Value) -> Result<ProviderCall<'_>, CallError> {
    let (names, inner) = match format {
        ToolFormat::OpenAiResponses => ("call_id", Some(call)),
        ToolFormat::OpenAiChat => ("id", call.get("function")),
        ToolFormat::Anthropic => ("id", Some(call)),
        ToolFormat::Gemini => ("id", call.get("functionCall")),
        ToolFormat::Mcp => ("", Some(call)),
    };
    let holder = if format == ToolFormat::Gemini { inner } else { Some(call) };
    let reference = holder.and_then(|holder| holder.get(names)).and_then(Value::as_str);
    let reference = reference.unwrap_or_default().to_owned();
    let wants = !matches!(format, ToolFormat::Gemini | ToolFormat::Mcp);
    if wants && reference.is_empty() {
        return Err(shape("", "it has no id to answer to"));
    }
    if !is_call(format, call) {
        return Err(shape(&reference, "this is not a call of a tool"));
    }
    let Some(name) = inner.and_then(|inner| inner.get("name")).and_then(Value::as_str) else {
        return Err(shape(&reference, "it names no tool"));
    };
    let (key, arguments_are_text) = match format {
        ToolFormat::OpenAiResponses | ToolFormat::OpenAiChat => ("arguments", true),
        ToolFormat::Anthropic => ("input", false),
        ToolFormat::Gemini => ("args", false),
        ToolFormat::Mcp => ("arguments", false),
    };
    let arguments = inner.and_then(|inner| inner.get(key));
    if arguments_are_text && arguments.is_some_and(|arguments| !arguments.is_string()) {
        return Err(shape(&reference, "its `arguments` are not text"));
    }
    Ok(ProviderCall { reference, name, arguments, arguments_are_text })
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
