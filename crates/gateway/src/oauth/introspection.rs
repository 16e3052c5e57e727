//! Token introspection (RFC 7662): the issuer is asked about a token that is opaque to us.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use weaver_drivers::oauth::{OAuthError, OAuthHttpClient};
use weaver_policy::TrustedIssuer;
use weaver_types::Timestamp;

use super::access_token::{ExpectedClaims, VerifiedToken};
use super::error::TokenError;
use crate::config::IntrospectionClient;

const DOCUMENT_NAME: &str = "what the issuer says of a token";
/// How long an answer is cached. A revoked token stays usable for at most that long.
const CACHE_LIFETIME: Duration = Duration::from_secs(30);
/// The most cached answers.
const MAX_CACHED: usize = 1_000;

/// The cached answers of one issuer, by the digests of the tokens.
#[derive(Default)]
pub(super) struct IntrospectionCache {
    answers: Mutex<BTreeMap<[u8; 32], CachedIntrospection>>,
}

struct CachedIntrospection {
    token: VerifiedToken,
    until: Instant,
}

/// The introspection endpoint of an issuer, and the client credentials for it.
pub(super) struct Introspector<'a> {
    pub(super) http_client: &'a OAuthHttpClient,
    pub(super) endpoint: &'a str,
    pub(super) client: &'a IntrospectionClient,
}

impl IntrospectionCache {
    /// Verifies a token through its issuer. Only positive answers are cached, so that a token that
    /// becomes valid is accepted at once.
    pub(super) async fn verify(
        &self,
        introspector: &Introspector<'_>,
        expected: &ExpectedClaims<'_>,
        token: &str,
    ) -> Result<VerifiedToken, TokenError> {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(cached) = self.cached(&digest, expected.now) {
            return Ok(cached);
        }
        let verified = introspector.introspect(expected, token).await?;
        self.cache(digest, &verified);
        Ok(verified)
    }

    fn cached(&self, digest: &[u8; 32], now: Timestamp) -> Option<VerifiedToken> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = answers.get(digest).filter(|cached| Instant::now() < cached.until)?;
        (now < cached.token.expires).then(|| cached.token.clone())
    }

    fn cache(&self, digest: [u8; 32], token: &VerifiedToken) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MAX_CACHED {
            let now = Instant::now();
            answers.retain(|_, cached| now < cached.until);
        }
        // If the cache is full the next request asks the issuer again, which is slower but just as
        // safe.
        if answers.len() < MAX_CACHED {
            let until = Instant::now() + CACHE_LIFETIME;
            answers.insert(digest, CachedIntrospection { token: token.clone(), until });
        }
    }
}

impl Introspector<'_> {
    async fn introspect(
        &self,
        expected: &ExpectedClaims<'_>,
        token: &str,
    ) -> Result<VerifiedToken, TokenError> {
        let failed = |reason: String| {
            TokenError::Unavailable(OAuthError::Unavailable { what: DOCUMENT_NAME, reason })
        };
        let secret = self.client.secret.provider().secret().await;
        let secret = secret.map_err(|error| failed(error.to_string()))?;
        let form = [("token", token), ("token_type_hint", "access_token")];
        let basic = Some((self.client.client_id.as_str(), &secret));
        let answer = self.http_client.post_form(DOCUMENT_NAME, self.endpoint, &form, basic).await;
        let answer = answer.map_err(|error| {
            tracing::error!(issuer = expected.issuer.issuer, %error, "no token is introspected");
            TokenError::Unavailable(error)
        })?;
        let claims = match (answer.status, &answer.value) {
            (200, Value::Object(claims)) => claims,
            (status, _) => {
                tracing::error!(
                    issuer = expected.issuer.issuer,
                    status,
                    "no token is introspected"
                );
                return Err(failed(format!("the answer has status {status}, or is no object")));
            }
        };
        if claims.get("active") != Some(&Value::Bool(true)) {
            return Err(TokenError::Invalid("its issuer says that it is not in force"));
        }
        let other = claims.get("iss").is_some_and(|iss| *iss != expected.issuer.issuer.as_str());
        if other {
            return Err(TokenError::Invalid("it is of another issuer"));
        }
        let bearer = |kind: &Value| kind.as_str().is_some_and(|k| k.eq_ignore_ascii_case("bearer"));
        if !claims.get("token_type").is_none_or(bearer) {
            return Err(TokenError::Invalid("it is no bearer token"));
        }
        // A token without an expiry is accepted for as long as the answer is cached.
        expected.check(claims, Some(expected.now.after(CACHE_LIFETIME)))
    }
}

/// The issuer's introspection endpoint, from the policy or from the issuer's metadata.
pub(super) async fn endpoint(
    http_client: &OAuthHttpClient,
    issuer: &TrustedIssuer,
) -> Result<String, TokenError> {
    if let Some(endpoint) = &issuer.introspection_endpoint {
        return Ok(endpoint.clone());
    }
    let server =
        weaver_drivers::oauth::AuthorizationServer::discover(http_client, &issuer.issuer).await;
    let server = server.map_err(TokenError::Unavailable)?;
    server.introspection_endpoint.ok_or(TokenError::Unavailable(OAuthError::Document {
        what: DOCUMENT_NAME,
        reason: "the issuer's metadata has no `introspection_endpoint`",
    }))
}

pub(super) type EndpointCell = tokio::sync::OnceCell<String>;
