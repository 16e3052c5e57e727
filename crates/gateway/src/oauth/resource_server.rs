//! The resource server: which tokens count, and what a client is told that has none (RFC 9728).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use weaver_drivers::oauth::{AllowedAddresses, OAuthHttpClient};
use weaver_policy::{Policy, TrustedIssuer};
use weaver_types::Timestamp;

use super::access_token::ExpectedClaims;
pub(crate) use super::access_token::VerifiedToken;
use super::error::TokenError;
use super::introspection::{self, Introspector};
use super::issuer::IssuerState;
use super::jwt::{Jwt, MAX_TOKEN};
use crate::config::OAuthResource;

/// Where the metadata of a protected resource is, without its path.
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The gateway as a resource server.
pub(crate) struct ResourceServer {
    settings: OAuthResource,
    /// Our own identifier, for which tokens must be meant.
    resource: String,
    web: OAuthHttpClient,
    issuers: Mutex<BTreeMap<String, KnownIssuer>>,
}

/// An issuer as the policy had it, and what is known of it since.
struct KnownIssuer {
    trusted: TrustedIssuer,
    state: Arc<IssuerState>,
}

impl ResourceServer {
    /// The resource server of a gateway that is reached at `origin`.
    pub(crate) fn new(settings: OAuthResource, origin: &str) -> Self {
        let resource = settings.resource.clone();
        let resource = resource.unwrap_or_else(|| format!("{origin}/mcp"));
        let web = OAuthHttpClient::new(AllowedAddresses::Anywhere)
            .with_authority(settings.authority.clone());
        Self { settings, resource, web, issuers: Mutex::default() }
    }

    /// The profile of clients that a token lets in.
    pub(crate) fn profile(&self) -> Option<&str> {
        self.settings.profile.as_deref()
    }

    /// Checks a token under the policy in force.
    ///
    /// # Errors
    /// [`TokenError`], for one that does not count, and when that cannot be told.
    pub(crate) async fn verify(
        &self,
        policy: &Policy,
        token: &str,
        now: Timestamp,
    ) -> Result<VerifiedToken, TokenError> {
        if token.len() > MAX_TOKEN {
            return Err(TokenError::Malformed("it is longer than 16 KiB"));
        }
        if !Jwt::looks_like(token) {
            return self.introspect(policy, token, now).await;
        }
        let jwt = Jwt::read(token)?;
        let issuer = jwt.unverified_claims().get("iss").and_then(Value::as_str).unwrap_or_default();
        let (name, trusted) = policy
            .issuer(issuer)
            .ok_or(TokenError::Invalid("the policy does not trust its issuer"))?;
        let expected = self.expected(trusted, now);
        // What costs nothing comes first: a token for somebody else has no keys fetched.
        let verified = expected.check(jwt.unverified_claims(), None)?;
        let state = self.state(name, trusted);
        state.keys.verify(&self.web, trusted, &jwt).await?;
        Ok(verified)
    }

    async fn introspect(
        &self,
        policy: &Policy,
        token: &str,
        now: Timestamp,
    ) -> Result<VerifiedToken, TokenError> {
        let mut last = TokenError::Invalid("it is not a token that is accepted here");
        for (name, client) in &self.settings.introspection {
            let Some(trusted) = policy.issuers.get(name) else { continue };
            let state = self.state(name, trusted);
            let endpoint = || introspection::endpoint(&self.web, trusted);
            let endpoint = state.introspection_endpoint.get_or_try_init(endpoint).await?;
            let introspector = Introspector { web: &self.web, endpoint, client };
            let expected = self.expected(trusted, now);
            match state.introspections.verify(&introspector, &expected, token).await {
                Ok(verified) => return Ok(verified),
                // Another issuer may know it; what cannot be told now stays what is said at the end.
                Err(error) if last.is_ours() => drop(error),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn expected<'a>(&'a self, issuer: &'a TrustedIssuer, now: Timestamp) -> ExpectedClaims<'a> {
        ExpectedClaims { issuer, resource: &self.resource, leeway: self.settings.leeway, now }
    }

    fn state(&self, name: &str, trusted: &TrustedIssuer) -> Arc<IssuerState> {
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

    /// What a client without a token that counts is told. All scopes that it needs stand in one
    /// challenge.
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

/// Every scope that the policy has a use for.
pub(crate) fn scopes(policy: &Policy) -> BTreeSet<&str> {
    policy.issuers.values().flat_map(TrustedIssuer::known_scopes).collect()
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
