//! The `TraceEvent` contract.

use serde::{Deserialize, Serialize};

use super::validation::{date_time, non_empty, reject_null};
use super::{Contract, ContractError, Fields, Nullable};

/// The type of a trace event: the thirteen core types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventType {
    /// A request was allowed.
    CapabilityAuthorized,
    /// A request was not allowed.
    CapabilityDenied,
    /// A capability was executed, with or without success.
    CapabilityExecuted,
    /// The firewall made a frame of a raw result.
    FirewallApplied,
    /// A result was stored behind a handle.
    HandleCreated,
    /// A handle was resolved.
    HandleResolved,
    /// A token was issued.
    TokenIssued,
    /// A token was used up, expired or revoked.
    TokenInvalidated,
    /// A flow began.
    FlowStarted,
    /// A step of a flow began.
    FlowStepStarted,
    /// A step of a flow ended.
    FlowStepCompleted,
    /// A flow ended.
    FlowCompleted,
    /// A flow failed.
    FlowFailed,
}

/// How the call of an event ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With success.
    Success,
    /// Without.
    Failure,
    /// Partly, or it is unknown how far.
    Partial,
}

/// One event of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceEvent {
    /// Its id.
    pub event_id: String,
    /// What happened.
    pub event_type: EventType,
    /// When, RFC 3339.
    pub timestamp: String,
    /// The capability involved.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub capability_id: Nullable<String>,
    /// The principal involved.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub principal: Nullable<String>,
    /// The decision involved.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub decision_id: Nullable<String>,
    /// The frame involved.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub frame_id: Nullable<String>,
    /// The handle involved.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub handle_id: Nullable<String>,
    /// How it ended.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub error_message: Nullable<String>,
    /// What an implementation adds.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Fields>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Fields,
}

impl Contract for TraceEvent {
    const TITLE: &'static str = "TraceEvent";

    fn validate(&self) -> Result<(), ContractError> {
        non_empty::<Self>(&[("event_id", &self.event_id)])?;
        date_time::<Self>("timestamp", &self.timestamp)
    }
}
