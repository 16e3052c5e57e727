//! What is asked of a policy.

use serde_json::Value;
use weaver_types::{
    Capability, CapabilityRequest, Label, Operation, Principal, SafetyMode, Timestamp,
};

/// Everything that a decision is a function of, beside the documents.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The capability with its contract applied: what
    /// [`PolicySet::effective`](crate::PolicySet::effective) gave.
    pub capability: &'a Capability,
    /// Who asks.
    pub principal: &'a Principal,
    /// What is asked for.
    pub request: &'a CapabilityRequest,
    /// The arguments, where they are known already.
    pub arguments: Option<&'a Value>,
    /// What is to happen with it.
    pub operation: Operation,
    /// The mode of the run.
    pub mode: SafetyMode,
    /// The label of the run.
    pub label: &'a Label,
    /// The time.
    pub now: Timestamp,
    /// True where a person can be asked for a justification.
    pub human_channel: bool,
}
