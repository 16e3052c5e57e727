//! Validates a result against the schema that its tool declares, after the execution and before
//! anything of it is shown or stored.

use weaver_types::{
    EventKind, RawContent, RawResult, ReasonCode, ResponseMode, StructuredContent, ToolErrorCode,
    ToolResult,
};

use super::ResultPipeline;
use super::call_end::CallEnd;
use super::result_label;
use crate::authorized_invocation::AuthorizedInvocation;
use crate::event_payload::error_text;

/// The name of the result itself in a message.
const RESULT_PATH: &str = "the result";

impl ResultPipeline {
    /// The first violation of the declared schema; `None` when the result fits, when no schema is
    /// declared, or when the tool reports an error, whose text has no structure.
    pub(crate) fn schema_violation(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        raw: &RawResult,
    ) -> Option<String> {
        let check = &invocation.target.entry.results;
        if !check.is_declared() || raw.is_error {
            return None;
        }
        let problem = match (&raw.structured, &raw.content) {
            (StructuredContent::Beside(value), _)
            | (StructuredContent::Content, RawContent::Json(value)) => {
                check.violation(value, RESULT_PATH)
            }
            (StructuredContent::Content, RawContent::Rows(rows)) => {
                check.violation_in_rows(rows, RESULT_PATH)
            }
            (StructuredContent::Content, RawContent::Text(text)) => {
                check.violation(&serde_json::Value::String(text.clone()), RESULT_PATH)
            }
            (StructuredContent::Content, RawContent::Binary { .. }) => {
                Some(format!("{RESULT_PATH}: it is bytes, and a structure is declared"))
            }
            (StructuredContent::Missing, _) => {
                Some(format!("{RESULT_PATH}: a structure is declared, and none came"))
            }
        };
        problem.map(|problem| error_text(&self.result_firewall(invocation, None), &problem))
    }

    /// The end of a call whose result violates its schema: it was executed, and nothing of the
    /// result is shown or stored.
    pub(crate) fn end_with_schema_violation(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        raw: &RawResult,
        problem: &str,
    ) -> CallEnd {
        let capability = &invocation.target.capability;
        let reason = ReasonCode::InvalidResult;
        let message = format!(
            "{reason}: the tool was executed, and its result does not fit its output schema: \
             {problem}"
        );
        let (call, id) = (invocation.call.clone(), capability.id().clone());
        let result = ToolResult::error(call, id, ToolErrorCode::Unexpected, message);
        // The field names in the message come from the tool.
        let framed =
            result_label::frame_label(capability, ResponseMode::Summary, &invocation.worst_label);
        let shown = Some(result_label::joined_with_source(framed, raw.label.as_ref()));
        CallEnd {
            failure: Some(reason),
            shown_label: shown,
            ..CallEnd::new(result, EventKind::Outcome)
        }
    }
}
