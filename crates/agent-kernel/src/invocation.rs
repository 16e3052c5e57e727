//! The results of requests and calls, and their explanations.

use weaver_types::{
    ApprovalRequestId, CallId, CapabilityId, Decision, Frame, PrincipalId, ReasonCode, ToolResult,
};

use crate::token::Token;

/// The decision and the end of one call.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The call.
    pub call: CallId,
    /// Who made it.
    pub principal: PrincipalId,
    /// The requested capability.
    pub capability: CapabilityId,
    /// The decision with the results of all checks.
    pub decision: Decision,
    /// How it ended: `None` for success, a refusal or a dry run.
    pub failure: Option<ReasonCode>,
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The id of the call.
    pub call: CallId,
    /// The decision.
    pub decision: Decision,
    /// The token; only when the decision allows, and never in a dry run.
    pub token: Option<Token>,
    /// The approval request that is open for a held call.
    pub request: Option<ApprovalRequestId>,
}

/// The result of an invocation.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The id of the call, by which the log can be searched.
    pub call: CallId,
    /// The decision.
    pub decision: Decision,
    /// The result or the refusal; `None` in a dry run that would be executed.
    pub result: Option<ToolResult<Frame>>,
    /// The request that is open for a held call. Once it is granted, the same call with the same
    /// arguments goes through, once.
    pub request: Option<ApprovalRequestId>,
}
