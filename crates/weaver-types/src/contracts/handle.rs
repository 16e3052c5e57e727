//! The `Handle` contract.

use serde::{Deserialize, Serialize};

use super::validation::{date_time, non_empty, optional_date_time, reject_null};
use super::{Contract, ContractError, Fields, Nullable};

/// A reference to a stored result. Knowing it gives no access.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Handle {
    /// Its id.
    pub handle_id: String,
    /// What produced the result.
    pub capability_id: String,
    /// The media type of what is stored.
    pub artifact_type: String,
    /// When it was made, RFC 3339.
    pub created_at: String,
    /// When it ends, RFC 3339; none means never.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub expires_at: Nullable<String>,
    /// Which policy governs access.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub access_policy: Option<String>,
    /// The size of what is stored, in bytes.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub byte_size: Nullable<u64>,
    /// What an implementation adds.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Fields>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Fields,
}

impl Contract for Handle {
    const TITLE: &'static str = "Handle";

    fn validate(&self) -> Result<(), ContractError> {
        non_empty::<Self>(&[
            ("handle_id", &self.handle_id),
            ("capability_id", &self.capability_id),
            ("artifact_type", &self.artifact_type),
        ])?;
        date_time::<Self>("created_at", &self.created_at)?;
        optional_date_time::<Self>("expires_at", &self.expires_at)
    }
}
