//! The result of discovering a server and its authorization server.

use super::dpop::{ALGORITHM, DpopKey, ProofContext, TokenBinding};
use super::error::OAuthError;
use super::grant::TokenEndpoint;
use super::login::Login;
use super::metadata::{AuthorizationServer, ProtectedResource};
use super::oauth_http_client::OAuthHttpClient;
use super::registration::ClientIdentity;
use super::settings::OAuthSettings;

/// A server's metadata and its authorization server.
pub(super) struct DiscoveredServer {
    pub(super) resource: ProtectedResource,
    pub(super) server: AuthorizationServer,
    pub(super) token_endpoint: String,
    /// Whether its tokens are bound to a key.
    pub(super) binding: TokenBinding,
    /// The previous login, if it is of this issuer.
    pub(super) previous_login: Option<Login>,
}

impl DiscoveredServer {
    /// A new key to bind the tokens of a new login to; `None` if they are not bound.
    pub(super) fn new_dpop_key(&self) -> Result<Option<DpopKey>, OAuthError> {
        let algorithms = &self.server.dpop_algorithms;
        match self.binding {
            TokenBinding::Unbound => Ok(None),
            TokenBinding::Offered if !algorithms.contains(ALGORITHM) => Ok(None),
            TokenBinding::Required if !algorithms.is_empty() && !algorithms.contains(ALGORITHM) => {
                Err(OAuthError::NoDpop)
            }
            TokenBinding::Offered | TokenBinding::Required => DpopKey::generate().map(Some),
        }
    }

    /// The token endpoint with all that a request to it needs.
    pub(super) fn endpoint<'a>(
        &'a self,
        proofs: &'a ProofContext,
        settings: &'a OAuthSettings,
        http_client: &'a OAuthHttpClient,
        client: &'a ClientIdentity,
        key: Option<&'a DpopKey>,
    ) -> TokenEndpoint<'a> {
        TokenEndpoint {
            proofs,
            http_client,
            settings,
            client,
            issuer: &self.server.issuer,
            url: &self.token_endpoint,
            key,
            resource: &self.resource.resource,
        }
    }
}
