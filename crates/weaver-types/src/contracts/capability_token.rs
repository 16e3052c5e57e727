//! The `CapabilityToken` contract.

use serde::{Deserialize, Serialize};

use super::validation::{broken, date_time, date_time_if, non_empty, non_empty_items, present};
use super::{Contract, ContractError, Fields, Nullable, Rule};

/// What a token allows whom. It expires or is for single use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapabilityToken {
    /// Its id.
    pub token_id: String,
    /// For whom.
    pub principal: String,
    /// For which capabilities, at least one.
    pub scope: Vec<String>,
    /// When it was issued, RFC 3339.
    pub issued_at: String,
    /// When it expires, RFC 3339; none only for single use.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub expires_at: Nullable<String>,
    /// Whether it ends with its first use; absent means no.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub single_use: Option<bool>,
    /// Who issued it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// What an implementation adds.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Fields>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Fields,
}

impl Contract for CapabilityToken {
    const TITLE: &'static str = "CapabilityToken";

    fn validate(&self) -> Result<(), ContractError> {
        non_empty::<Self>(&[("token_id", &self.token_id), ("principal", &self.principal)])?;
        if self.scope.is_empty() {
            return Err(broken::<Self>("scope", Rule::AtLeastOne));
        }
        non_empty_items::<Self>("scope", &self.scope)?;
        date_time::<Self>("issued_at", &self.issued_at)?;
        date_time_if::<Self>("expires_at", &self.expires_at)?;
        if self.single_use == Some(true) || self.expires_at.value().is_some() {
            Ok(())
        } else {
            Err(broken::<Self>("expires_at", Rule::Bounded))
        }
    }
}
