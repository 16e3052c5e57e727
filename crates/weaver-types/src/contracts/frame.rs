//! The `Frame` contract.

use serde::{Deserialize, Serialize};

use super::validation::{date_time, non_empty, non_empty_items, reject_null};
use super::{Contract, ContractError, Fields, Nullable};

/// What a model may see of a result. It never holds raw output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Its id.
    pub frame_id: String,
    /// What produced the result.
    pub capability_id: String,
    /// A summary that is safe to show a model.
    pub summary: String,
    /// The part of the result that passed the firewall.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub structured_data: Nullable<Fields>,
    /// Handles of the full results.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub handle_refs: Option<Vec<String>>,
    /// What was taken out.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub redaction_notes: Option<String>,
    /// When it was made, RFC 3339.
    pub created_at: String,
    /// What an implementation adds.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Fields>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Fields,
}

impl Contract for Frame {
    const TITLE: &'static str = "Frame";

    fn validate(&self) -> Result<(), ContractError> {
        non_empty::<Self>(&[
            ("frame_id", &self.frame_id),
            ("capability_id", &self.capability_id),
            ("summary", &self.summary),
        ])?;
        non_empty_items::<Self>("handle_refs", self.handle_refs.as_deref().unwrap_or_default())?;
        date_time::<Self>("created_at", &self.created_at)
    }
}
