//! The `CapabilityToken` contract.

use serde::{Deserialize, Serialize};

use super::validation::{
    date_time, non_empty, non_empty_items, optional_date_time, reject_null, rule_violation,
};
use super::{Contract, ContractError, Fields, Nullable, Rule};

/// What a token allows, and to whom. It expires or is for single use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapabilityToken {
    /// Its id.
    pub token_id: String,
    /// The principal that may use it.
    pub principal: String,
    /// The capabilities it covers, at least one.
    pub scope: Vec<String>,
    /// When it was issued, RFC 3339.
    pub issued_at: String,
    /// When it expires, RFC 3339; may be absent only for single use.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub expires_at: Nullable<String>,
    /// Whether it ends with its first use; absent means no.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub single_use: Option<bool>,
    /// Who issued it.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Additions of an implementation.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
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
            return Err(rule_violation::<Self>("scope", Rule::AtLeastOne));
        }
        non_empty_items::<Self>("scope", &self.scope)?;
        date_time::<Self>("issued_at", &self.issued_at)?;
        optional_date_time::<Self>("expires_at", &self.expires_at)?;
        if self.single_use == Some(true) || self.expires_at.value().is_some() {
            Ok(())
        } else {
            Err(rule_violation::<Self>("expires_at", Rule::SingleUseOrExpiring))
        }
    }
}
