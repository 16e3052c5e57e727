//! The caller of a capability, and the call.

use serde_json::Value;
use weaver_types::{CapabilityRequest, Principal, ResponseMode, RunContext};

/// The principal that calls, and the run in which it calls.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// The run.
    pub run: &'a RunContext,
    /// The principal.
    pub principal: &'a Principal,
}

/// A call: the request, its arguments, and how much of the result to show.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The request.
    pub request: &'a CapabilityRequest,
    /// The arguments, if they are known.
    pub arguments: Option<&'a Value>,
    /// How much of the result to show.
    pub mode: ResponseMode,
}
