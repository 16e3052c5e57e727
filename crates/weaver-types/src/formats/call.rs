//! A model's call, read.

use serde_json::{Map, Value};

use super::answer::AnswerTo;
use super::error::CallError;
use super::{Format, ToolSet};
use crate::canonical::{self, Profile};
use crate::id::CapabilityId;
use crate::request::{CapabilityRequest, Justification, JustificationSource};

/// The argument in which a model may justify a call, where the tool has none of that name.
pub const JUSTIFICATION: &str = "_justification";
/// The longest message that is read, in bytes.
pub const MAX_MESSAGE: usize = 4 * 1024 * 1024;

/// A call to one of the tools that were offered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The provider's name of the call; empty where it has none.
    pub reference: String,
    /// The name by which the tool was called.
    pub name: String,
    /// The capability.
    pub capability_id: CapabilityId,
    /// The arguments, as the capability's own schema means them. What else they say (an
    /// `operation`, say) is data.
    pub arguments: Map<String, Value>,
    /// Why, in the model's words; their source is [`JustificationSource::Model`].
    pub justification: Option<Justification>,
}

impl ToolCall {
    /// The request for it. The goal is whatever the host wants to record; it never counts as a
    /// user's word.
    #[must_use]
    pub fn request(&self, goal: impl Into<String>) -> CapabilityRequest {
        let mut request = CapabilityRequest::new(self.capability_id.clone(), goal);
        request.justification.clone_from(&self.justification);
        request
    }

    /// Where its answer goes.
    #[must_use]
    pub fn to(&self) -> AnswerTo<'_> {
        AnswerTo { reference: &self.reference, name: &self.name }
    }
}

/// A call as the provider writes it, taken apart.
struct ProviderCall<'v> {
    reference: String,
    name: &'v str,
    arguments: Option<&'v Value>,
    /// Whether the arguments stand in a text of their own.
    as_text: bool,
}

impl ToolSet {
    /// Reads one call: a `function_call` item (Responses), an entry of `tool_calls` (Chat), a
    /// `tool_use` block (Anthropic), a part with `functionCall` (Gemini), the `params` of
    /// `tools/call` (MCP).
    ///
    /// # Errors
    /// [`CallError`], which can be answered like a call. A key that stands twice, anywhere, and a
    /// number that cannot be kept exactly are refused; 64-bit integers are kept.
    pub fn read(&self, message: &str) -> Result<ToolCall, CallError> {
        self.read_value(&parsed(message)?)
    }

    /// As [`ToolSet::read`], of every call in a list of items, blocks or parts; what is no call is
    /// passed over.
    ///
    /// # Errors
    /// [`CallError`] for the whole, where the list itself cannot be read.
    pub fn read_all(&self, items: &str) -> Result<Vec<Result<ToolCall, CallError>>, CallError> {
        let items = parsed(items)?;
        let Some(items) = items.as_array() else {
            return Err(shape("", "this is no list of items"));
        };
        let calls = items.iter().filter(|item| is_call(self.format, item));
        Ok(calls.map(|item| self.read_value(item)).collect())
    }

    /// As [`ToolSet::read`], of a message that the host has read already. What the host's reader
    /// dropped, a key that stood twice, say, cannot be seen any more.
    ///
    /// # Errors
    /// As [`ToolSet::read`].
    pub fn read_value(&self, call: &Value) -> Result<ToolCall, CallError> {
        let written = written(self.format, call)?;
        let ProviderCall { reference, name, .. } = &written;
        let (reference, name) = (reference.clone(), (*name).to_owned());
        let Some(id) = self.names.id(&name) else {
            let name = name.escape_debug().take(80).collect();
            return Err(CallError::UnknownTool { reference, name });
        };
        let capability = id.clone();
        let read = if written.as_text {
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
                let found = kind(&other);
                return Err(CallError::NotAnObject { reference, name, capability, found });
            }
            Err(problem) => {
                return Err(CallError::Arguments { reference, name, capability, problem });
            }
        };
        let mut justification = None;
        if let Some(shape) = self.shapes.get(&capability) {
            if !shape.declares(JUSTIFICATION) {
                justification = justified(&mut arguments);
            }
            arguments = shape.restored(arguments);
        }
        Ok(ToolCall { reference, name, capability_id: capability, arguments, justification })
    }
}

/// Takes a model's justification out of the arguments.
fn justified(arguments: &mut Map<String, Value>) -> Option<Justification> {
    match arguments.remove(JUSTIFICATION)? {
        Value::String(text) => Some(Justification { text, source: JustificationSource::Model }),
        other => {
            // It is no justification, so it is an argument like any other.
            arguments.insert(JUSTIFICATION.to_owned(), other);
            None
        }
    }
}

fn parsed(message: &str) -> Result<Value, CallError> {
    if message.len() > MAX_MESSAGE {
        return Err(CallError::TooLong { length: message.len(), limit: MAX_MESSAGE });
    }
    canonical::parse(message.as_bytes(), Profile::Foreign).map_err(CallError::Message)
}

fn shape(reference: &str, problem: &'static str) -> CallError {
    CallError::Shape { reference: reference.to_owned(), problem }
}

fn is_call(format: Format, item: &Value) -> bool {
    let kind = item.get("type").and_then(Value::as_str);
    match format {
        Format::OpenAiResponses => kind == Some("function_call"),
        Format::OpenAiChat => item.get("function").is_some(),
        Format::Anthropic => kind == Some("tool_use"),
        Format::Gemini => item.get("functionCall").is_some(),
        Format::Mcp => item.get("name").is_some(),
    }
}

fn written(format: Format, call: &Value) -> Result<ProviderCall<'_>, CallError> {
    let (names, inner) = match format {
        Format::OpenAiResponses => ("call_id", Some(call)),
        Format::OpenAiChat => ("id", call.get("function")),
        Format::Anthropic => ("id", Some(call)),
        Format::Gemini => ("id", call.get("functionCall")),
        Format::Mcp => ("", Some(call)),
    };
    let holder = if format == Format::Gemini { inner } else { Some(call) };
    let reference = holder.and_then(|holder| holder.get(names)).and_then(Value::as_str);
    let reference = reference.unwrap_or_default().to_owned();
    let wants = !matches!(format, Format::Gemini | Format::Mcp);
    if wants && reference.is_empty() {
        return Err(shape("", "it has no id to answer to"));
    }
    if !is_call(format, call) {
        return Err(shape(&reference, "this is no call of a tool"));
    }
    let Some(name) = inner.and_then(|inner| inner.get("name")).and_then(Value::as_str) else {
        return Err(shape(&reference, "it names no tool"));
    };
    let (key, as_text) = match format {
        Format::OpenAiResponses | Format::OpenAiChat => ("arguments", true),
        Format::Anthropic => ("input", false),
        Format::Gemini => ("args", false),
        Format::Mcp => ("arguments", false),
    };
    let arguments = inner.and_then(|inner| inner.get(key));
    if as_text && arguments.is_some_and(|arguments| !arguments.is_string()) {
        return Err(shape(&reference, "its `arguments` are no text"));
    }
    Ok(ProviderCall { reference, name, arguments, as_text })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
