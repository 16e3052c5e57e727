//! The caller of a capability, and the call.

use serde_json::Value;
use weaver_types::{CapabilityRequest, Principal, ResponseMode, RunContext};

/// Who calls, and in which run.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// The run.
    pub run: &'a RunContext,
    /// The principal.
    pub principal: &'a Principal,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The request.
    pub request: &'a CapabilityRequest,
    /// The arguments, where they are known.
    pub arguments: Option<&'a Value>,
    /// How much of the result to show.
    pub mode: ResponseMode,
}
