//! The operator's settings for logins at one server.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use weaver_types::PrincipalId;

use crate::http::{CertificateAuthority, SecretProvider};

/// On whose behalf tokens are issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GrantType {
    /// A person, who authorises the client once.
    #[default]
    AuthorizationCode,
    /// This client itself, by its id and its secret or private key (RFC 6749 §4.4).
    ClientCredentials,
    /// The subject of an assertion that another party signed (RFC 7523 §2.1): a workload, vouched
    /// for by its platform, or a person, vouched for by an identity provider.
    JwtBearer,
}

/// The source of the assertion for [`GrantType::JwtBearer`].
#[derive(Clone)]
pub enum AssertionSource {
    /// It exists already, and is read again for each token request: a workload token.
    Token(Arc<dyn SecretProvider>),
    /// An identity provider issues it in exchange for another token.
    Exchange(TokenExchange),
}

/// A token exchange at an identity provider (RFC 8693) for an identity assertion that one
/// authorization server accepts (ID-JAG, Identity Assertion JWT Authorization Grant).
#[derive(Clone)]
pub struct TokenExchange {
    /// The identity provider.
    pub issuer: String,
    /// The client id registered there.
    pub client_id: String,
    /// The secret of that registration; a public client has none.
    pub client_secret: Option<Arc<dyn SecretProvider>>,
    /// The ID token of the assertion's subject.
    pub subject_token: Arc<dyn SecretProvider>,
}

/// The operator's settings for logins at one server.
#[derive(Clone, Default)]
pub struct OAuthSettings {
    /// On whose behalf tokens are issued.
    pub grant: GrantType,
    /// The name of this client shown to a person.
    pub client_name: String,
    /// The authorization server of an existing registration. The server names its authorization
    /// servers itself, so without this a server under foreign control chooses who gets the secret.
    pub issuer: Option<String>,
    /// The client id of an existing registration.
    pub client_id: Option<String>,
    /// The secret of that registration.
    pub client_secret: Option<Arc<dyn SecretProvider>>,
    /// The private key of that registration, as PKCS #8 in PEM; used instead of a secret.
    pub client_key: Option<Arc<dyn SecretProvider>>,
    /// The id of that key (`kid`), if the client has several.
    pub client_key_id: Option<String>,
    /// The source of the assertion for [`GrantType::JwtBearer`].
    pub assertion: Option<AssertionSource>,
    /// Requires tokens bound to a key (DPoP, RFC 9449). Otherwise tokens are bound only if the
    /// server asks for it.
    pub dpop_bound_access_tokens: bool,
    /// The URL of the client metadata document, which is then the client id.
    pub client_metadata_url: Option<String>,
    /// Scopes that are always requested.
    pub scopes: BTreeSet<String>,
    /// A certificate authority trusted in addition to the platform's.
    pub certificate_authority: Option<CertificateAuthority>,
    /// Whose login it is, for hints on how to log in; `None` for the shared one.
    pub principal: Option<PrincipalId>,
}

impl OAuthSettings {
    /// Whether the operator configured a credential, which only the authorization server that it is
    /// for may get.
    pub(super) fn has_credential(&self) -> bool {
        self.client_secret.is_some() || self.client_key.is_some() || self.assertion.is_some()
    }
}

impl fmt::Debug for OAuthSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthSettings")
            .field("grant", &self.grant)
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .field("client_metadata_url", &self.client_metadata_url)
            .field("dpop_bound_access_tokens", &self.dpop_bound_access_tokens)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
