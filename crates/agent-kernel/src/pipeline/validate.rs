//! A result against the schema that its tool declares for it: after the execution, and before
//! anything of it is shown or kept.

use weaver_types::{
    EventKind, RawContent, RawResult, ReasonCode, ResponseMode, StructuredContent, ToolErrorCode,
    ToolResult,
};

use super::authorized_invocation::AuthorizedInvocation;
use super::finish::CallEnd;
use super::label;
use crate::kernel::Kernel;
use crate::record::error_text;

/// What a result is called where it does not fit as a whole.
const WHOLE: &str = "the result";

impl Kernel {
    /// What in a result does not fit the declared schema; `None` where it fits, none is declared, or
    /// the tool says that it failed: those are words about a failure and no structure.
    pub(super) fn misfit(
        &self,
        ready: &AuthorizedInvocation<'_>,
        raw: &RawResult,
    ) -> Option<String> {
        let check = &ready.target.entry.results;
        if !check.is_declared() || raw.is_error {
            return None;
        }
        let problem = match (&raw.structured, &raw.content) {
            (StructuredContent::Beside(value), _)
            | (StructuredContent::Content, RawContent::Json(value)) => {
                check.violation(value, WHOLE)
            }
            (StructuredContent::Content, RawContent::Rows(rows)) => {
                check.violation_in_rows(rows, WHOLE)
            }
            (StructuredContent::Content, RawContent::Text(text)) => {
                check.violation(&serde_json::Value::String(text.clone()), WHOLE)
            }
            (StructuredContent::Content, RawContent::Binary { .. }) => {
                Some(format!("{WHOLE}: it is bytes, and a structure is declared"))
            }
            (StructuredContent::Missing, _) => {
                Some(format!("{WHOLE}: a structure is declared, and none came"))
            }
        };
        problem.map(|problem| error_text(&self.firewall_for(ready, None), &problem))
    }

    /// The end of a call whose result does not fit: it was executed, and nothing of what came is
    /// shown or kept.
    pub(super) fn misfitting(
        &self,
        ready: &AuthorizedInvocation<'_>,
        raw: &RawResult,
        problem: &str,
    ) -> CallEnd {
        let capability = &ready.target.capability;
        let reason = ReasonCode::InvalidResult;
        let message = format!(
            "{reason}: the tool was executed, and its result does not fit its output schema: \
             {problem}"
        );
        let (call, id) = (ready.call.clone(), capability.id().clone());
        let result = ToolResult::error(call, id, ToolErrorCode::Unexpected, message);
        // Names of fields are the tool's words.
        let framed = label::framed(capability, ResponseMode::Summary, &ready.worst);
        let shown = Some(label::known(framed, raw.label.as_ref()));
        CallEnd { failure: Some(reason), shown, ..CallEnd::new(result, EventKind::Outcome) }
    }
}
