//! Introspection (RFC 7662): the issuer says what a token is that is none to be read here.

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

const WHAT: &str = "what the issuer says of a token";
/// For how long an answer is believed: a token that was withdrawn goes on for so long.
const BELIEVED: Duration = Duration::from_secs(30);
/// The most answers that are kept.
const MAX_KEPT: usize = 1_000;

/// Answers of one issuer, by the digests of the tokens.
#[derive(Default)]
pub(super) struct Introspections {
    kept: Mutex<BTreeMap<[u8; 32], CachedIntrospection>>,
}

struct CachedIntrospection {
    token: VerifiedToken,
    until: Instant,
}

/// Whom to ask, and as whom.
pub(super) struct Introspector<'a> {
    pub(super) web: &'a OAuthHttpClient,
    pub(super) endpoint: &'a str,
    pub(super) client: &'a IntrospectionClient,
}

impl Introspections {
    /// What the issuer says of a token; only good news is kept.
    pub(super) async fn verify(
        &self,
        introspector: &Introspector<'_>,
        expected: &ExpectedClaims<'_>,
        token: &str,
    ) -> Result<VerifiedToken, TokenError> {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(known) = self.kept(&digest, expected.now) {
            return Ok(known);
        }
        let verified = introspector.ask(expected, token).await?;
        self.keep(digest, &verified);
        Ok(verified)
    }

    fn kept(&self, digest: &[u8; 32], now: Timestamp) -> Option<VerifiedToken> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.get(digest).filter(|known| Instant::now() < known.until)?;
        (now < known.token.expires).then(|| known.token.clone())
    }

    fn keep(&self, digest: [u8; 32], token: &VerifiedToken) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT {
            let now = Instant::now();
            kept.retain(|_, known| now < known.until);
        }
        // Without a place it is asked for again, which is slower and no less safe.
        if kept.len() < MAX_KEPT {
            let until = Instant::now() + BELIEVED;
            kept.insert(digest, CachedIntrospection { token: token.clone(), until });
        }
    }
}

impl Introspector<'_> {
    async fn ask(
        &self,
        expected: &ExpectedClaims<'_>,
        token: &str,
    ) -> Result<VerifiedToken, TokenError> {
        let failed = |reason: String| {
            TokenError::Unavailable(OAuthError::Unavailable { what: WHAT, reason })
        };
        let secret = self.client.secret.provider().secret().await;
        let secret = secret.map_err(|error| failed(error.to_string()))?;
        let form = [("token", token), ("token_type_hint", "access_token")];
        let basic = Some((self.client.client_id.as_str(), &secret));
        let answer = self.web.post_form(WHAT, self.endpoint, &form, basic).await;
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
        // One without an end counts as long as the answer is believed.
        expected.check(claims, Some(expected.now.after(BELIEVED)))
    }
}

/// The issuer's own word for where tokens are introspected.
pub(super) async fn endpoint(
    web: &OAuthHttpClient,
    issuer: &TrustedIssuer,
) -> Result<String, TokenError> {
    if let Some(endpoint) = &issuer.introspection_endpoint {
        return Ok(endpoint.clone());
    }
    let found = weaver_drivers::oauth::AuthorizationServer::find(web, &issuer.issuer).await;
    let found = found.map_err(TokenError::Unavailable)?;
    found.introspection_endpoint.ok_or(TokenError::Unavailable(OAuthError::Document {
        what: WHAT,
        reason: "the issuer's metadata has no `introspection_endpoint`",
    }))
}

pub(super) type EndpointCell = tokio::sync::OnceCell<String>;
