//! The claims of a capability token. The kernel signs and verifies them.

use serde::{Deserialize, Serialize};

use crate::decision::Constraints;
use crate::digest::Digest;
use crate::id::{CapabilityId, KeyId, PrincipalId, RunId, Tenant, TokenId};
use crate::time::Timestamp;

/// The claims of a token: exactly one invocation with exactly these properties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenClaims {
    /// The version of this form.
    pub v: u8,
    /// Its id; a token can be used only once.
    pub token_id: TokenId,
    /// The key that authenticates it.
    pub key_id: KeyId,
    /// The tenant.
    pub tenant: Tenant,
    /// The principal that may use it.
    pub principal: PrincipalId,
    /// The capability it permits.
    pub capability: CapabilityId,
    /// The fingerprint of the permitted version.
    pub fingerprint: Digest,
    /// The run in which it is valid.
    pub run: RunId,
    /// The digest of the permitted arguments, if they were known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Digest>,
    /// The kernel that may accept it.
    pub audience: String,
    /// The digest of the policy it was issued under.
    pub policy: Digest,
    /// The limits on the result.
    pub constraints: Constraints,
    /// Whether the raw result may be shown.
    #[serde(default)]
    pub raw: bool,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
}
