//! How calls end, before their ends are recorded.

use weaver_firewall::handle::StoredHandle;
use weaver_types::{
    EventKind, Frame, Label, RawResult, ReasonCode, ResultStatus, ToolErrorCode, ToolResult,
};

use crate::authorized_invocation::AuthorizedInvocation;
use crate::driver::DriverError;
use crate::invocation::span_id;
use crate::provenance;
use crate::recorder::RecordingError;

/// How a call ended, before it is recorded.
pub(crate) struct CallEnd {
    pub(crate) result: ToolResult<Frame>,
    pub(crate) kind: EventKind,
    pub(crate) failure: Option<ReasonCode>,
    /// The stored result, and the result itself, kept open for later queries.
    pub(crate) stored: Option<Box<(StoredHandle, RawResult)>>,
    /// The tokens of what is shown.
    pub(crate) tokens: u64,
    /// The label of what is shown; `None` when nothing from the tool is shown.
    pub(crate) shown_label: Option<Label>,
    /// The records in the reply, if the contract says which member is their id.
    pub(crate) records: Vec<provenance::ReplyRecord>,
    /// What the log records about a stream.
    pub(crate) stream: Option<serde_json::Value>,
    /// Whether the tokens count against the token budget of the session.
    pub(crate) counts_tokens: bool,
    /// Why a possible retry was not made.
    pub(crate) retry_stopped: Option<ReasonCode>,
}

impl CallEnd {
    /// An end with nothing to store or charge.
    pub(crate) fn new(result: ToolResult<Frame>, kind: EventKind) -> Self {
        Self {
            result,
            kind,
            failure: None,
            stored: None,
            tokens: 0,
            shown_label: None,
            records: Vec::new(),
            stream: None,
            counts_tokens: false,
            retry_stopped: None,
        }
    }
}

/// Why a call failed, and whether it may have taken effect anyway.
pub(crate) struct CallFailure<'a> {
    pub(crate) error: &'a DriverError,
    pub(crate) is_ambiguous: bool,
}

/// The tool result of a frame, and the failure to record when the tool itself reports an error.
pub(crate) fn tool_result_of(
    invocation: &AuthorizedInvocation<'_>,
    frame: Frame,
) -> (ToolResult<Frame>, Option<ReasonCode>) {
    let failed = frame.status == ResultStatus::Error;
    let provenance = frame.provenance.clone();
    let id = invocation.target.capability.id().clone();
    let mut result = ToolResult::ok(invocation.call.clone(), id, frame);
    result.provenance = provenance;
    if failed {
        result.success = false;
        result.error_code = Some(ToolErrorCode::Unexpected);
        result.error_message = "the tool reports an error; what it says is in the data".to_owned();
    }
    (result, failed.then_some(ReasonCode::ExecutionFailed))
}

/// The end of a call that was executed, and whose end could not be recorded.
pub(crate) fn unrecorded_end(
    invocation: &AuthorizedInvocation<'_>,
    problem: &RecordingError,
) -> CallEnd {
    let reason = ReasonCode::OutcomeUnknown;
    let message =
        format!("{reason}: the call was executed, but its end could not be recorded: {problem}");
    let id = invocation.target.capability.id().clone();
    let mut result =
        ToolResult::error(invocation.call.clone(), id, ToolErrorCode::Unexpected, message);
    result.trace_id = invocation.caller.run.trace_id.clone();
    result.span_id = span_id(&invocation.call);
    CallEnd { failure: Some(reason), ..CallEnd::new(result, EventKind::OutcomeUnknown) }
}

/// Maps a driver's error to one of the eight error codes of the SecondBrain kernel.
pub(super) fn error_code(error: &DriverError) -> ToolErrorCode {
    match error {
        DriverError::NotFound(_) => ToolErrorCode::NotFound,
        DriverError::Invalid(_) => ToolErrorCode::ValidationError,
        DriverError::Timeout(_) => ToolErrorCode::Timeout,
        DriverError::Network(_) | DriverError::Unavailable(_) | DriverError::Lost(_) => {
            ToolErrorCode::NetworkError
        }
        DriverError::RateLimited { .. } => ToolErrorCode::RateLimited,
        DriverError::Unreadable(_) | DriverError::Failed(_) => ToolErrorCode::Unexpected,
    }
}
