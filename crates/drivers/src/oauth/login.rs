//! A login: the tokens for one server, and all that is needed to refresh them.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weaver_types::Timestamp;
use zeroize::Zeroizing;

use super::dpop::DpopKey;
use super::registration::ClientIdentity;

/// A token is refreshed this long before it ends, or after half its life where that is shorter.
const EARLY: Duration = Duration::from_secs(60);

/// The tokens for one server, bound to the issuer that gave them and the resource that they are for.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The server that the tokens are for.
    pub resource: String,
    /// The issuer that gave them. They are never used with another one.
    pub issuer: String,
    /// Where they are refreshed.
    pub token_endpoint: String,
    /// How this client is known to the issuer.
    pub client: ClientIdentity,
    /// The token that goes to the server.
    pub(super) access_token: Zeroizing<String>,
    /// What a fresh one is asked for with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<Zeroizing<String>>,
    /// The key that the tokens are bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dpop_key: Option<DpopKey>,
    /// The scopes that were asked for or granted.
    pub scopes: BTreeSet<String>,
    /// When they were given.
    pub obtained: Timestamp,
    /// When the access token ends, where the issuer said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

impl Login {
    /// True where it can be refreshed.
    #[must_use]
    pub fn is_refreshable(&self) -> bool {
        self.refresh_token.is_some()
    }

    /// True where the tokens are bound to a key, without which they are of no use.
    #[must_use]
    pub fn is_key_bound(&self) -> bool {
        self.dpop_key.is_some()
    }

    /// True when the access token should be refreshed before it is used.
    #[must_use]
    pub fn is_stale(&self, now: Timestamp) -> bool {
        let Some(expires) = self.expires else { return false };
        let half = expires.since(self.obtained).checked_div(2).unwrap_or_default();
        now.after(EARLY.min(half)) >= expires
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("resource", &self.resource)
            .field("issuer", &self.issuer)
            .field("client", &self.client)
            .field("scopes", &self.scopes)
            .field("expires", &self.expires)
            .field("refreshable", &self.is_refreshable())
            .field("key_bound", &self.is_key_bound())
            .finish_non_exhaustive()
    }
}
