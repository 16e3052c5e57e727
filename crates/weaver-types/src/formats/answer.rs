//! Results as the messages that answer a model's calls.

use serde_json::{Value, json};

use super::ToolFormat;
use super::error::CallError;
use crate::canonical::{self, Profile};
use crate::decision::Decision;
use crate::frame::{Frame, ResultStatus};
use crate::id::CapabilityId;
use crate::result::ToolResult;

/// The capability of an answer to a call that could not be resolved to one.
const UNRESOLVED_CAPABILITY: &str = "(unresolved)";

/// The call that an answer belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallReference<'a> {
    /// The provider's id of the call.
    pub provider_call_id: &'a str,
    /// The name of the tool.
    pub name: &'a str,
}

/// The content of an answer. It holds only what a model may see: a frame, or an error message.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerContent {
    body: Value,
    is_error: bool,
}

impl AnswerContent {
    /// A frame in its serialised form, which its budget bounds, without a raw value: that is for
    /// administrators and never for a model.
    #[must_use]
    pub fn frame(frame: &Frame) -> Self {
        let is_error = frame.status == ResultStatus::Error;
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

    /// A decision that refused the call: verdict, reason and detail.
    #[must_use]
    pub fn refusal(capability: &CapabilityId, decision: &Decision) -> Self {
        let mut content =
            Self::error(Some(capability), decision.primary_reason().as_str(), decision.detail());
        if let Some(fields) = content.body.as_object_mut() {
            fields.insert("verdict".to_owned(), json!(decision.verdict()));
        }
        content
    }

    /// A call that could not be parsed.
    #[must_use]
    pub fn unreadable_call(error: &CallError) -> Self {
        Self::error(error.capability(), error.code(), &error.to_string())
    }

    /// An error with a code and a message.
    #[must_use]
    pub fn error(capability: Option<&CapabilityId>, code: &str, message: &str) -> Self {
        let capability = capability.map_or(UNRESOLVED_CAPABILITY, CapabilityId::as_str);
        let body = json!({
            "error": true,
            "capability_id": capability,
            "code": code,
            "message": message,
        });
        Self { body, is_error: true }
    }

    /// The body as canonical JSON.
    fn text(&self) -> String {
        canonical::to_bytes(&self.body, Profile::Foreign)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .unwrap_or_else(|| self.body.to_string())
    }
}

/// The message that answers a call: a `function_call_output` item (Responses), a message with role
/// `tool` (Chat), a `tool_result` block (Anthropic), a part with `functionResponse` (Gemini), a
/// `CallToolResult` (MCP).
#[must_use]
pub fn answer_message(format: ToolFormat, to: CallReference<'_>, content: &AnswerContent) -> Value {
    let CallReference { provider_call_id, name } = to;
    let block = || json!([{ "type": "text", "text": content.text() }]);
    match format {
        ToolFormat::Mcp => json!({
            "content": block(),
            "structuredContent": content.body,
            "isError": content.is_error,
        }),
        ToolFormat::OpenAiResponses => json!({
            "type": "function_call_output",
            "call_id": provider_call_id,
            "output": content.text(),
        }),
        ToolFormat::OpenAiChat => {
            json!({ "role": "tool", "tool_call_id": provider_call_id, "content": content.text() })
        }
        ToolFormat::Anthropic => {
            let mut result = json!({ "type": "tool_result", "tool_use_id": provider_call_id, "content": block() });
            if let (true, Some(fields)) = (content.is_error, result.as_object_mut()) {
                fields.insert("is_error".to_owned(), json!(true));
            }
            result
        }
        ToolFormat::Gemini => {
            let key = if content.is_error { "error" } else { "output" };
            let mut response = json!({ "name": name, "response": { key: content.body } });
            if let (false, Some(fields)) = (provider_call_id.is_empty(), response.as_object_mut()) {
                fields.insert("id".to_owned(), json!(provider_call_id));
            }
            json!({ "functionResponse": response })
        }
    }
}
