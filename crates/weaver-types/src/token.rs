//! The claims of a token. Signing and verifying them is the kernel's work.

use serde::{Deserialize, Serialize};

use crate::decision::Constraints;
use crate::digest::Digest;
use crate::id::{CapabilityId, KeyId, PrincipalId, RunId, Tenant, TokenId};
use crate::time::Timestamp;

/// What a token says: exactly one invocation of exactly this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenClaims {
    /// The version of this form.
    pub v: u8,
    /// Its name; using it twice is impossible.
    pub token_id: TokenId,
    /// The key that authenticates it.
    pub key_id: KeyId,
    /// Whose data.
    pub tenant: Tenant,
    /// For whom.
    pub principal: PrincipalId,
    /// For what.
    pub capability: CapabilityId,
    /// For which version of it.
    pub fingerprint: Digest,
    /// In which run.
    pub run: RunId,
    /// With which arguments, where they were known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Digest>,
    /// Who may accept it.
    pub audience: String,
    /// Under which policy.
    pub policy: Digest,
    /// Within which limits.
    pub constraints: Constraints,
    /// Whether the raw result may be shown.
    #[serde(default)]
    pub raw: bool,
    /// From when.
    pub issued_at: Timestamp,
    /// Until when.
    pub expires_at: Timestamp,
}
