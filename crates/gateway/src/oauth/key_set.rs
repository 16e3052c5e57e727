//! The public keys of one issuer (RFC 7517): fetched when they are needed, kept for a bounded time,
//! and asked for again when a token names a key that is not among them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use weaver_drivers::oauth::{AuthorizationServer, OAuthError, OAuthHttpClient};
use weaver_policy::TrustedIssuer;

use super::error::TokenError;
use super::jwt::{Jwk, Jwt};

const WHAT: &str = "the keys of the issuer";
/// The most keys of one issuer.
const MAX_KEYS: usize = 100;
/// For how long keys are kept where the issuer does not say, and at least and at most where it does.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(60 * 60);
const MIN_LIFETIME: Duration = Duration::from_secs(5 * 60);
const MAX_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// After how long keys are asked for again because one is missing. Anybody can name keys that do not
/// exist.
const REFETCH_PAUSE: Duration = Duration::from_secs(30);
/// After how long they are asked for again when that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// The keys of one issuer.
#[derive(Default)]
pub(super) struct KeySet {
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    keys: Option<FetchedKeys>,
    failed: Option<(Instant, OAuthError)>,
}

#[derive(Clone)]
struct FetchedKeys {
    keys: Arc<[Jwk]>,
    at: Instant,
    until: Instant,
}

impl KeySet {
    /// Whether one of the issuer's keys made the signature. One fetch serves all who wait for it.
    pub(super) async fn verify(
        &self,
        web: &OAuthHttpClient,
        issuer: &TrustedIssuer,
        jwt: &Jwt<'_>,
    ) -> Result<(), TokenError> {
        jwt.check_algorithm()?;
        let mut state = self.state.lock().await;
        let fresh = state.keys.as_ref().is_some_and(|keys| Instant::now() < keys.until);
        if !fresh {
            // Old keys do not count: the issuer may have withdrawn one.
            state.fetch(web, issuer).await?;
        }
        if state.verifies(jwt) {
            return Ok(());
        }
        let stale = state.keys.as_ref().is_some_and(|keys| keys.at.elapsed() >= REFETCH_PAUSE);
        if stale && state.key_may_be_missing(jwt) {
            state.fetch(web, issuer).await?;
            if state.verifies(jwt) {
                return Ok(());
            }
        }
        Err(TokenError::Invalid("no key of its issuer made its signature"))
    }
}

impl State {
    fn verifies(&self, jwt: &Jwt<'_>) -> bool {
        let keys = self.keys.as_ref().map(|fetched| Arc::clone(&fetched.keys));
        let keys = keys.iter().flat_map(|keys| keys.iter());
        // A token that names its key is verified with no other one.
        let fitting = |key: &&Jwk| jwt.key_id().is_none() || key.key_id.as_deref() == jwt.key_id();
        keys.filter(fitting).any(|key| jwt.verify(key))
    }

    /// Whether the key of the token can be one that was not fetched yet: it names none, or one that is
    /// not among those that are known.
    fn key_may_be_missing(&self, jwt: &Jwt<'_>) -> bool {
        let Some(wanted) = jwt.key_id() else { return true };
        let known = |fetched: &FetchedKeys| {
            fetched.keys.iter().any(|key| key.key_id.as_deref() == Some(wanted))
        };
        !self.keys.as_ref().is_some_and(known)
    }

    async fn fetch(
        &mut self,
        web: &OAuthHttpClient,
        issuer: &TrustedIssuer,
    ) -> Result<(), TokenError> {
        if let Some((at, error)) = &self.failed
            && at.elapsed() < AFTER_FAILURE
        {
            return Err(TokenError::Unavailable(error.clone()));
        }
        match fetched(web, issuer).await {
            Ok(keys) => {
                *self = Self { keys: Some(keys), failed: None };
                Ok(())
            }
            Err(error) => {
                tracing::error!(issuer = issuer.issuer, %error, "the keys of the issuer cannot be fetched, so its tokens are refused");
                self.failed = Some((Instant::now(), error.clone()));
                Err(TokenError::Unavailable(error))
            }
        }
    }
}

async fn fetched(web: &OAuthHttpClient, issuer: &TrustedIssuer) -> Result<FetchedKeys, OAuthError> {
    let wrong = |reason| OAuthError::Document { what: WHAT, reason };
    let uri = match &issuer.jwks_uri {
        Some(uri) => uri.clone(),
        None => {
            let server = AuthorizationServer::find(web, &issuer.issuer).await?;
            server.jwks_uri.ok_or_else(|| wrong("its metadata has no `jwks_uri`"))?
        }
    };
    let document = web.get(WHAT, &uri).await?;
    if document.status != 200 {
        let reason = format!("the answer has status {}", document.status);
        return Err(OAuthError::Unavailable { what: WHAT, reason });
    }
    let keys = document.value.get("keys").and_then(Value::as_array);
    let keys = keys.ok_or_else(|| wrong("it is no set of keys"))?;
    if keys.len() > MAX_KEYS {
        return Err(wrong("it has more than 100 keys"));
    }
    let keys: Arc<[Jwk]> = keys.iter().filter_map(Jwk::read).collect();
    let (at, life) = (
        Instant::now(),
        document.max_age.unwrap_or(DEFAULT_LIFETIME).clamp(MIN_LIFETIME, MAX_LIFETIME),
    );
    Ok(FetchedKeys { keys, at, until: at + life })
}
