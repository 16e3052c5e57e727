//! The `PolicyDecision` contract.

use serde::{Deserialize, Serialize};

use super::validation::{date_time, non_empty, reject_null};
use super::{Contract, ContractError, Fields, Nullable};

/// The verdict of a [`PolicyDecision`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyVerdict {
    /// It may go ahead.
    Allow,
    /// It may not go ahead.
    Deny,
}

/// The verdict on one request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyDecision {
    /// Its id.
    pub decision_id: String,
    /// Allow or deny.
    pub decision: PolicyVerdict,
    /// What was asked for.
    pub capability_id: String,
    /// Who asked.
    pub principal: String,
    /// The token that was presented, if any.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub token_id: Nullable<String>,
    /// Why.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When, RFC 3339.
    pub timestamp: String,
    /// What an implementation adds.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Fields>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Fields,
}

impl Contract for PolicyDecision {
    const TITLE: &'static str = "PolicyDecision";

    fn validate(&self) -> Result<(), ContractError> {
        non_empty::<Self>(&[
            ("decision_id", &self.decision_id),
            ("capability_id", &self.capability_id),
            ("principal", &self.principal),
        ])?;
        date_time::<Self>("timestamp", &self.timestamp)
    }
}
