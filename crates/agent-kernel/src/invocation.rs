//! What a request and a call come to, and what is remembered of them.

use weaver_types::{
    CallId, CapabilityId, Decision, Frame, PrincipalId, ReasonCode, RequestId, ToolResult,
};

use crate::token::Token;

/// One call's decision and end.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The call.
    pub call: CallId,
    /// Who made it.
    pub principal: PrincipalId,
    /// What was asked for.
    pub capability: CapabilityId,
    /// The decision, with all that every check said.
    pub decision: Decision,
    /// How it ended: `None` for success, a refusal or a dry run.
    pub failure: Option<ReasonCode>,
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The call that the invocation will have.
    pub call: CallId,
    /// The decision.
    pub decision: Decision,
    /// The token; only when the decision allows, and never in a dry run.
    pub token: Option<Token>,
    /// The request that is open for a held call.
    pub request: Option<RequestId>,
}

/// What an invocation came to.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The call, by which the log is searched.
    pub call: CallId,
    /// The decision.
    pub decision: Decision,
    /// The result or the refusal; `None` in a dry run that would have gone on.
    pub result: Option<ToolResult<Frame>>,
    /// The request that is open for a held call. Once it is granted, the same call with the same
    /// arguments goes through, once.
    pub request: Option<RequestId>,
}
