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

impl Invocation {
    /// What a model may see of the result; `None` when there is none.
    #[must_use]
    pub fn frame(&self) -> Option<&Frame> {
        self.result.as_ref()?.data.as_ref()
    }

    /// A call that ends with its decision.
    pub(crate) fn without_result(call: CallId, decision: Decision) -> Self {
        Self { call, decision, result: None, request: None }
    }

    /// A call that is denied because no id could be made for it. It is never executed.
    pub(crate) fn unnamed(decision: Decision) -> Self {
        Self::without_result(placeholder_call_id(), decision)
    }
}

/// A placeholder id for when randomness fails. Such a call is denied and never executed.
pub(crate) fn placeholder_call_id() -> CallId {
    #[expect(clippy::expect_used, reason = "a constant that the test below parses")]
    CallId::parse("call_unnamed").expect("a constant")
}

/// The span of a call: the first 16 hexadecimal digits of its id.
pub(crate) fn span_id(call: &CallId) -> String {
    // `skip(2)`: the prefix `call_` has two hexadecimal digits itself, `c` and `a`.
    let digits = call.as_str().bytes().filter(u8::is_ascii_hexdigit).skip(2).take(16);
    let mut out = String::with_capacity(16);
    out.extend(digits.map(char::from));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stand_in_is_a_call_id() {
        assert_eq!(placeholder_call_id().as_str(), "call_unnamed");
    }

    #[test]
    fn the_span_of_a_call_is_the_first_16_digits_of_its_id() {
        let span = |id: &str| span_id(&CallId::parse(id).unwrap());
        assert_eq!(span("call_0123456789abcdef0123456789abcdef"), "0123456789abcdef");
        assert_eq!(span("call_12"), "12");
    }
}
