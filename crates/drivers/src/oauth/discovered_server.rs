//! What was found of a server and its authorization server.

use super::dpop::{ALGORITHM, DpopKey, ProofContext, TokenBinding};
use super::error::OAuthError;
use super::grant::TokenEndpoint;
use super::login::Login;
use super::metadata::{AuthorizationServer, ProtectedResource};
use super::registration::ClientIdentity;
use super::settings::OAuthSettings;
use super::web::OAuthHttpClient;

/// Whose tokens a server takes, and what is needed to ask for one.
pub(super) struct DiscoveredServer {
    pub(super) resource: ProtectedResource,
    pub(super) server: AuthorizationServer,
    pub(super) token_endpoint: String,
    /// Whether its tokens are bound to a key.
    pub(super) binding: TokenBinding,
    /// The login that there was, where it is one of this issuer.
    pub(super) before: Option<Login>,
}

impl DiscoveredServer {
    /// The key that the tokens of a new login are bound to; `None` where they are bound to none.
    pub(super) fn key(&self) -> Result<Option<DpopKey>, OAuthError> {
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

    /// Where tokens are asked for.
    pub(super) fn endpoint<'a>(
        &'a self,
        proofs: &'a ProofContext,
        settings: &'a OAuthSettings,
        web: &'a OAuthHttpClient,
        client: &'a ClientIdentity,
        key: Option<&'a DpopKey>,
    ) -> TokenEndpoint<'a> {
        TokenEndpoint {
            proofs,
            web,
            settings,
            client,
            issuer: &self.server.issuer,
            url: &self.token_endpoint,
            key,
            resource: &self.resource.resource,
        }
    }
}
