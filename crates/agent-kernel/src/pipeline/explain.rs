//! What is remembered of a call, for whoever made it.

use weaver_types::{CallId, CapabilityId, Decision, PrincipalId, ReasonCode};

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
