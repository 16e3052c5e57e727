//! A login: the tokens for one server, and what is needed to refresh them.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weaver_types::Timestamp;
use zeroize::Zeroizing;

use super::dpop::DpopKey;
use super::registration::ClientIdentity;

/// A token is refreshed this long before it expires, or after half its lifetime if that is sooner.
const REFRESH_MARGIN: Duration = Duration::from_secs(60);

/// The tokens for one server, bound to the issuer and the resource.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The server that the tokens are for.
    pub resource: String,
    /// The issuer of the tokens. They are never sent to another one.
    pub issuer: String,
    /// The endpoint that refreshes them.
    pub token_endpoint: String,
    /// The registration of this client at the issuer.
    pub client: ClientIdentity,
    /// The token sent to the server.
    pub(super) access_token: Zeroizing<String>,
    /// The token that requests a new access token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<Zeroizing<String>>,
    /// The key that the tokens are bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dpop_key: Option<DpopKey>,
    /// The scopes that were requested or granted.
    pub scopes: BTreeSet<String>,
    /// When the tokens were issued.
    pub obtained: Timestamp,
    /// When the access token expires, if the issuer said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

impl Login {
    /// True if it can be refreshed.
    #[must_use]
    pub fn is_refreshable(&self) -> bool {
        self.refresh_token.is_some()
    }

    /// True if the tokens are bound to a key, without which they cannot be used.
    #[must_use]
    pub fn is_key_bound(&self) -> bool {
        self.dpop_key.is_some()
    }

    /// True if the access token should be refreshed before it is used.
    #[must_use]
    pub fn is_stale(&self, now: Timestamp) -> bool {
        let Some(expires) = self.expires else { return false };
        let half = expires.since(self.obtained).checked_div(2).unwrap_or_default();
        now.after(REFRESH_MARGIN.min(half)) >= expires
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
