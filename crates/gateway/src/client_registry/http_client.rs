//! The clients in the registry: those that may connect, and those that were removed.

use serde::{Deserialize, Serialize};
use weaver_types::{PrincipalId, Timestamp};

/// The prefix of these clients' session keys.
pub(super) const CLIENT_KEY_PREFIX: &str = "client:";
/// How much of a token's digest identifies it in the log: enough to tell tokens apart, too little
/// to be of use.
const TOKEN_ID_CHARS: usize = 16;

/// What a client's token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAccess {
    /// Sessions, in which tools can be called.
    #[default]
    Sessions,
    /// `/metrics` and `/readyz`, and nothing else.
    Metrics,
}

impl ClientAccess {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A client that may connect over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpClient {
    /// Its name, which identifies its runs.
    pub name: String,
    /// SHA-256 of its token, in hexadecimal.
    pub(super) sha256: String,
    /// SHA-256 of the first of the tokens that replaced each other with an overlap: they share
    /// sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_sha256: Option<String>,
    /// The tokens that the current one replaced, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<FormerToken>,
    /// The principal that it acts as.
    pub principal: PrincipalId,
    /// Its profile; `None` means that of `[gateway]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What its token is for.
    #[serde(default, skip_serializing_if = "ClientAccess::is_default")]
    pub access: ClientAccess,
    /// When its token was made.
    pub created: Timestamp,
    /// When its access expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// Who made its token, as the command was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added_by: Option<String>,
}

/// A token that another one replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormerToken {
    pub(super) sha256: String,
    /// When it was made.
    pub created: Timestamp,
    /// Until when it is valid beside the one that replaced it.
    pub expires: Timestamp,
}

/// A client that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemovedClient {
    /// The client as it was.
    pub client: HttpClient,
    /// When it was removed.
    pub at: Timestamp,
    /// Who removed it, as the command was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A client to be added.
#[derive(Debug, Clone)]
pub struct NewClient {
    /// Its name.
    pub name: String,
    /// The principal that it acts as.
    pub principal: PrincipalId,
    /// Its profile.
    pub profile: Option<String>,
    /// What its token is for.
    pub access: ClientAccess,
    /// When its access expires.
    pub expires: Option<Timestamp>,
    /// Who adds it.
    pub by: Option<String>,
}

impl HttpClient {
    /// The key of its sessions: it changes whenever principal or profile change, and with the token
    /// unless the former one goes on for a while.
    pub(crate) fn session_key(&self) -> String {
        let Self { name, principal, profile, .. } = self;
        let first = self.first_sha256.as_ref().unwrap_or(&self.sha256);
        let profile = profile.as_deref().unwrap_or_default();
        format!("{CLIENT_KEY_PREFIX}{name}:{first}:{principal}:{profile}")
    }

    /// The digest of the token that it came with.
    pub(crate) fn token_digest(&self) -> &str {
        &self.sha256
    }

    /// The short ids of its tokens, the current one last.
    pub(crate) fn token_ids(&self) -> impl Iterator<Item = &str> {
        let former = self.former.iter().map(|token| token.sha256.as_str());
        former.chain([self.sha256.as_str()]).map(token_id)
    }

    pub(crate) fn is_valid_at(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }

    /// This client for each of its tokens, each with the end of that token.
    pub(super) fn by_token(&self) -> impl Iterator<Item = Self> {
        let former = self.former.iter().map(|token| Self {
            sha256: token.sha256.clone(),
            first_sha256: Some(self.first_sha256.as_ref().unwrap_or(&self.sha256).clone()),
            expires: Some(self.expires.map_or(token.expires, |end| end.min(token.expires))),
            created: token.created,
            ..self.clone()
        });
        former.chain([self.clone()])
    }
}

/// The short id of a token, by which the log names it.
fn token_id(digest: &str) -> &str {
    digest.get(..TOKEN_ID_CHARS).unwrap_or(digest)
}
