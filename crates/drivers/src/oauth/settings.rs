//! The operator's settings for logins at one server.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use weaver_types::PrincipalId;

use crate::http::{Authority, SecretProvider};

/// Who stands behind a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GrantType {
    /// A person, who agrees once.
    #[default]
    AuthorizationCode,
    /// This client itself, by its id and secret (RFC 6749 §4.4).
    ClientCredentials,
}

/// What an operator says of the logins at one server.
#[derive(Clone, Default)]
pub struct OAuthSettings {
    /// Who stands behind a token.
    pub grant: GrantType,
    /// What this client calls itself where a person is asked.
    pub client_name: String,
    /// The id under which it was registered before.
    pub client_id: Option<String>,
    /// The secret of that registration.
    pub client_secret: Option<Arc<dyn SecretProvider>>,
    /// The address of a document about this client, which is then its id.
    pub client_metadata_url: Option<String>,
    /// Scopes that are asked for in any case.
    pub scopes: BTreeSet<String>,
    /// An authority whose certificates count beside the platform's.
    pub authority: Option<Authority>,
    /// Whose login it is, for errors that say how to log in; `None` for that of everybody.
    pub principal: Option<PrincipalId>,
}

impl fmt::Debug for OAuthSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthSettings")
            .field("grant", &self.grant)
            .field("client_id", &self.client_id)
            .field("client_metadata_url", &self.client_metadata_url)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
