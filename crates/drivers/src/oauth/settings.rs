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
    /// This client itself, by its id and its secret or private key (RFC 6749 §4.4).
    ClientCredentials,
    /// Whoever an assertion speaks for that somebody else signed (RFC 7523 §2.1): a platform for the
    /// workload that runs on it, or an identity provider for a person.
    JwtBearer,
}

/// Where the assertion of [`GrantType::JwtBearer`] comes from.
#[derive(Clone)]
pub enum AssertionSource {
    /// It is there, and is read anew for each request for a token: that of a workload.
    Token(Arc<dyn SecretProvider>),
    /// An identity provider gives it in exchange for another token.
    Exchange(TokenExchange),
}

/// An exchange of tokens at an identity provider (RFC 8693), for an assertion that one authorization
/// server takes (ID-JAG, Identity Assertion JWT Authorization Grant).
#[derive(Clone)]
pub struct TokenExchange {
    /// The identity provider.
    pub issuer: String,
    /// The id under which this client is registered there.
    pub client_id: String,
    /// The secret of that registration; a public client has none.
    pub client_secret: Option<Arc<dyn SecretProvider>>,
    /// The ID token of whoever the assertion speaks for.
    pub subject_token: Arc<dyn SecretProvider>,
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
    /// The private key of that registration, in PEM as PKCS #8: it stands in place of a secret.
    pub client_key: Option<Arc<dyn SecretProvider>>,
    /// Which of the client's keys that is, where it has several (`kid`).
    pub client_key_id: Option<String>,
    /// Where the assertion of [`GrantType::JwtBearer`] comes from.
    pub assertion: Option<AssertionSource>,
    /// Tokens are bound to a key (DPoP, RFC 9449), and others are refused. Without it they are where
    /// the server asks for that.
    pub dpop_bound_access_tokens: bool,
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
            .field("dpop_bound_access_tokens", &self.dpop_bound_access_tokens)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
