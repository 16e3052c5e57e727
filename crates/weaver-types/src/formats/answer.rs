//! Results as the messages that answer a model's calls.

use serde_json::{Value, json};

use super::Format;
use super::error::CallError;
use crate::canonical::{self, Profile};
use crate::decision::Decision;
use crate::frame::{Frame, Status};
use crate::id::CapabilityId;
use crate::result::ToolResult;

/// The capability of an answer to a call that named none.
const UNRESOLVED: &str = "(unresolved)";

/// Where an answer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerTo<'a> {
    /// The provider's name of the call.
    pub reference: &'a str,
    /// The name of the tool.
    pub name: &'a str,
}

/// What is answered. It holds only what a model may see: a frame, or words about why there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerContent {
    body: Value,
    is_error: bool,
}

impl AnswerContent {
    /// A frame in the form that its budget bounds, without what a raw one holds: that is for an
    /// administrator's eyes and never for a model.
    #[must_use]
    pub fn frame(frame: &Frame) -> Self {
        let is_error = frame.status == Status::Error;
        let Ok(mut body) = serde_json::to_value(frame) else {
            let id = Some(&frame.capability_id);
            return Self::error(id, "internal_error", "the result cannot be written as JSON");
        };
        if let Some(fields) = body.as_object_mut() {
            fields.remove("raw");
        }
        Self { body, is_error }
    }

    /// The result of a call: its frame, or its error. The kernel has redacted both.
    #[must_use]
    pub fn result(result: &ToolResult<Frame>) -> Self {
        match &result.data {
            Some(frame) if result.success => Self::frame(frame),
            _ => {
                let code = serde_json::to_value(result.error_code).unwrap_or_default();
                let code = code.as_str().unwrap_or("UNEXPECTED").to_owned();
                Self::error(Some(&result.tool_id), &code, &result.error_message)
            }
        }
    }

    /// A decision that let nothing happen: verdict, reason and what it says.
    #[must_use]
    pub fn refused(capability: &CapabilityId, decision: &Decision) -> Self {
        let mut said =
            Self::error(Some(capability), decision.primary().as_str(), decision.detail());
        if let Some(fields) = said.body.as_object_mut() {
            fields.insert("verdict".to_owned(), json!(decision.verdict()));
        }
        said
    }

    /// A call that could not be read.
    #[must_use]
    pub fn unread(error: &CallError) -> Self {
        Self::error(error.capability(), error.code(), &error.to_string())
    }

    /// An error in words.
    #[must_use]
    pub fn error(capability: Option<&CapabilityId>, code: &str, message: &str) -> Self {
        let capability = capability.map_or(UNRESOLVED, CapabilityId::as_str);
        let body = json!({
            "error": true,
            "capability_id": capability,
            "code": code,
            "message": message,
        });
        Self { body, is_error: true }
    }

    /// The body as canonical JSON: keys sorted, no blanks.
    fn text(&self) -> String {
        canonical::to_bytes(&self.body, Profile::Foreign)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .unwrap_or_else(|| self.body.to_string())
    }
}

/// The message that answers a call in a format: a `function_call_output` item (Responses), a message
/// of role `tool` (Chat), a `tool_result` block (Anthropic), a part with `functionResponse`
/// (Gemini), a `CallToolResult` (MCP).
#[must_use]
pub fn answer(format: Format, to: AnswerTo<'_>, said: &AnswerContent) -> Value {
    let AnswerTo { reference, name } = to;
    let block = || json!([{ "type": "text", "text": said.text() }]);
    match format {
        Format::Mcp => json!({
            "content": block(),
            "structuredContent": said.body,
            "isError": said.is_error,
        }),
        Format::OpenAiResponses => json!({
            "type": "function_call_output",
            "call_id": reference,
            "output": said.text(),
        }),
        Format::OpenAiChat => {
            json!({ "role": "tool", "tool_call_id": reference, "content": said.text() })
        }
        Format::Anthropic => {
            let mut result =
                json!({ "type": "tool_result", "tool_use_id": reference, "content": block() });
            if let (true, Some(fields)) = (said.is_error, result.as_object_mut()) {
                fields.insert("is_error".to_owned(), json!(true));
            }
            result
        }
        Format::Gemini => {
            let key = if said.is_error { "error" } else { "output" };
            let mut response = json!({ "name": name, "response": { key: said.body } });
            if let (false, Some(fields)) = (reference.is_empty(), response.as_object_mut()) {
                fields.insert("id".to_owned(), json!(reference));
            }
            json!({ "functionResponse": response })
        }
    }
}
