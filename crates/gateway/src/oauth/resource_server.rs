//! The resource server: verifies the tokens of clients, and challenges clients without one (RFC
//! 9728).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use weaver_drivers::oauth::{AllowedAddresses, OAuthHttpClient};
use weaver_policy::{Policy, TrustedIssuer};
use weaver_types::Timestamp;

pub(crate) use super::access_token::VerifiedToken;
use super::access_token::{ClaimSource, ExpectedClaims};
use super::error::TokenError;
use super::introspection::{self, Introspector};
use super::issuer::IssuerState;
use super::jwt::{Jwt, MAX_TOKEN_BYTES};
use crate::config::OAuthResource;

/// The well-known path of the metadata of a protected resource; the resource's own path follows.
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The gateway as a resource server.
pub(crate) struct ResourceServer {
    settings: OAuthResource,
    /// The resource identifier of this gateway, which the audience of a token must contain.
    resource: String,
    http_client: OAuthHttpClient,
    issuers: Mutex<BTreeMap<String, KnownIssuer>>,
}

/// An issuer as the policy described it, and its state since.
struct KnownIssuer {
    trusted: TrustedIssuer,
    state: Arc<IssuerState>,
}

impl ResourceServer {
    /// The resource server of a gateway whose address is `origin`.
    pub(crate) fn new(settings: OAuthResource, origin: &str) -> Self {
        let resource = settings.resource.clone();
        let resource = resource.unwrap_or_else(|| format!("{origin}/mcp"));
        let http_client = OAuthHttpClient::new(AllowedAddresses::Anywhere)
            .with_certificate_authority(settings.certificate_authority.clone());
        Self { settings, resource, http_client, issuers: Mutex::default() }
    }

    /// The client profile of clients with a token.
    pub(crate) fn client_profile(&self) -> Option<&str> {
        self.settings.profile.as_deref()
    }

    /// Verifies a token under the policy in force.
    ///
    /// # Errors
    /// [`TokenError`], if it is not valid or cannot be checked.
    pub(crate) async fn verify(
        &self,
        policy: &Policy,
        token: &str,
        now: Timestamp,
    ) -> Result<VerifiedToken, TokenError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::Malformed("it is longer than 16 KiB"));
        }
        if !Jwt::is_jwt_shaped(token) {
            return self.introspect(policy, token, now).await;
        }
        let jwt = Jwt::parse(token)?;
        let issuer = jwt.unverified_claims().get("iss").and_then(Value::as_str).unwrap_or_default();
        let (name, trusted) = policy.find_issuer(issuer).ok_or(TokenError::UntrustedIssuer)?;
        let expected = self.expected_claims(trusted, now);
        // The claims are checked before the signature, since that costs nothing: a token for
        // another server never causes a fetch of keys. A forged token gains nothing, as its
        // signature is still verified.
        let verified = expected.check(jwt.unverified_claims(), ClaimSource::Token)?;
        let state = self.issuer_state(name, trusted);
        state.keys.verify(&self.http_client, trusted, &jwt).await?;
        Ok(verified)
    }

    async fn introspect(
        &self,
        policy: &Policy,
        token: &str,
        now: Timestamp,
    ) -> Result<VerifiedToken, TokenError> {
        let mut last_error: Option<TokenError> = None;
        for (name, client) in &self.settings.introspection {
            let Some(trusted) = policy.issuers.get(name) else {
                tracing::warn!(
                    issuer = %name,
                    "no token is introspected: the policy has no issuer of this name"
                );
                continue;
            };
            let state = self.issuer_state(name, trusted);
            let introspected = async {
                let endpoint = || introspection::endpoint(&self.http_client, trusted);
                let endpoint = state.introspection_endpoint.find(endpoint).await?;
                let http_client = &self.http_client;
                let introspector = Introspector { http_client, endpoint, client };
                let expected = self.expected_claims(trusted, now);
                state.introspections.verify(&introspector, &expected, token).await
            };
            match introspected.await {
                Ok(verified) => return Ok(verified),
                // Another issuer may know the token. If none does, an issuer that could not be
                // asked determines the error.
                Err(error) if last_error.as_ref().is_some_and(TokenError::is_unavailable) => {
                    drop(error);
                }
                Err(error) => last_error = Some(error),
            }
        }
        let nobody_asked = match self.settings.introspection.is_empty() {
            true => TokenError::Invalid("it is not a token that is accepted here"),
            false => TokenError::UntrustedIssuer,
        };
        Err(last_error.unwrap_or(nobody_asked))
    }

    fn expected_claims<'a>(
        &'a self,
        issuer: &'a TrustedIssuer,
        now: Timestamp,
    ) -> ExpectedClaims<'a> {
        ExpectedClaims { issuer, resource: &self.resource, leeway: self.settings.leeway, now }
    }

    fn issuer_state(&self, name: &str, trusted: &TrustedIssuer) -> Arc<IssuerState> {
        let mut issuers = self.issuers.lock().unwrap_or_else(PoisonError::into_inner);
        match issuers.get(name).filter(|known| known.trusted == *trusted) {
            Some(known) => Arc::clone(&known.state),
            None => {
                let state = Arc::<IssuerState>::default();
                let known = KnownIssuer { trusted: trusted.clone(), state: Arc::clone(&state) };
                issuers.insert(name.to_owned(), known);
                state
            }
        }
    }

    /// The metadata of this resource.
    pub(crate) fn metadata(&self, policy: &Policy) -> Value {
        let issuers: Vec<&str> =
            policy.issuers.values().map(|trusted| trusted.issuer.as_str()).collect();
        let mut metadata = json!({
            "resource": self.resource,
            "resource_name": "Weaver",
            "authorization_servers": issuers,
            "bearer_methods_supported": ["header"],
        });
        let scopes = scopes(policy);
        if !scopes.is_empty()
            && let Some(fields) = metadata.as_object_mut()
        {
            fields.insert("scopes_supported".to_owned(), json!(scopes));
        }
        metadata
    }

    /// The `WWW-Authenticate` challenge for a client without a valid token. It lists all scopes
    /// that the client needs.
    pub(crate) fn challenge(&self, error: Option<&str>, scopes: &BTreeSet<&str>) -> String {
        let mut challenge = "Bearer ".to_owned();
        if let Some(error) = error {
            challenge.push_str(&format!("error=\"{error}\", "));
        }
        if !scopes.is_empty() {
            let scopes: Vec<&str> = scopes.iter().copied().collect();
            challenge.push_str(&format!("scope=\"{}\", ", scopes.join(" ")));
        }
        challenge.push_str(&format!("resource_metadata=\"{}\"", self.metadata_address()));
        challenge
    }

    fn metadata_address(&self) -> String {
        let after = self.resource.find("://").map_or(0, |at| at.saturating_add(3));
        let path = self.resource.get(after..).and_then(|rest| rest.find('/'));
        let path = path.map_or(self.resource.len(), |at| at.saturating_add(after));
        let (origin, path) = self.resource.split_at_checked(path).unwrap_or((&self.resource, ""));
        format!("{origin}{WELL_KNOWN}{}", path.trim_end_matches('/'))
    }
}

/// Every scope that the policy uses.
pub(crate) fn scopes(policy: &Policy) -> BTreeSet<&str> {
    policy.issuers.values().flat_map(TrustedIssuer::used_scopes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_names_the_metadata_of_this_resource() {
        for (resource, wanted) in [
            (
                "https://gate.example/mcp",
                "https://gate.example/.well-known/oauth-protected-resource/mcp",
            ),
            ("https://gate.example", "https://gate.example/.well-known/oauth-protected-resource"),
            ("https://gate.example/", "https://gate.example/.well-known/oauth-protected-resource"),
        ] {
            let settings =
                OAuthResource { resource: Some(resource.to_owned()), ..OAuthResource::default() };
            let server = ResourceServer::new(settings, "http://127.0.0.1:1");
            assert_eq!(server.metadata_address(), wanted);
            assert_eq!(
                server.challenge(Some("insufficient_scope"), &BTreeSet::from(["a", "b"])),
                format!(
                    "Bearer error=\"insufficient_scope\", scope=\"a b\", resource_metadata=\"{wanted}\""
                )
            );
        }
    }
}
