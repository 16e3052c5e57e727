//! The public keys of one issuer (RFC 7517): fetched on demand, cached for a bounded time, and
//! fetched again when a token names an unknown key.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use weaver_drivers::oauth::{AuthorizationServer, OAuthError, OAuthHttpClient};
use weaver_policy::TrustedIssuer;

use super::error::TokenError;
use super::jwt::{Jwk, Jwt};

const DOCUMENT_NAME: &str = "the keys of the issuer";
/// The most keys of one issuer.
const MAX_KEYS: usize = 100;
/// How long keys are cached: if the issuer does not say, at least, and at most.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(60 * 60);
const MIN_LIFETIME: Duration = Duration::from_secs(5 * 60);
const MAX_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The shortest time between two fetches that an unknown key id causes. It limits the requests to
/// the issuer, since anybody can make up key ids.
const REFETCH_PAUSE: Duration = Duration::from_secs(30);
/// The shortest time between a failed fetch and the next one.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// The cached keys of one issuer.
#[derive(Default)]
pub(super) struct KeySet {
    state: Mutex<KeySetState>,
    /// Held during a request to the issuer, so that one fetch serves all who wait. Anybody can
    /// cause a fetch with a made-up key id, so tokens signed with a known key never wait for this
    /// lock.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct KeySetState {
    keys: Option<FetchedKeys>,
    last_failure: Option<(Instant, OAuthError)>,
}

struct FetchedKeys {
    keys: Arc<[Jwk]>,
    fetched_at: Instant,
    until: Instant,
}

impl KeySet {
    /// Verifies that one of the issuer's keys made the signature.
    pub(super) async fn verify(
        &self,
        client: &OAuthHttpClient,
        issuer: &TrustedIssuer,
        jwt: &Jwt<'_>,
    ) -> Result<(), TokenError> {
        jwt.check_algorithm()?;
        if self.is_signed_by_known_key(jwt) {
            return Ok(());
        }
        let fetching = self.fetching.lock().await;
        // The previous holder of the lock may have fetched the key.
        if self.is_signed_by_known_key(jwt) {
            return Ok(());
        }
        if self.lock().needs_fetch(jwt) {
            self.fetch(client, issuer).await?;
        }
        drop(fetching);
        if self.is_signed_by_known_key(jwt) {
            return Ok(());
        }
        Err(TokenError::Invalid("no key of its issuer made its signature"))
    }

    fn is_signed_by_known_key(&self, jwt: &Jwt<'_>) -> bool {
        let keys = self.lock().unexpired_keys();
        // A token that names a key is verified with that key only.
        let fitting = |key: &&Jwk| jwt.key_id().is_none() || key.key_id.as_deref() == jwt.key_id();
        keys.iter().flat_map(|keys| keys.iter()).filter(fitting).any(|key| jwt.verify(key))
    }

    async fn fetch(
        &self,
        client: &OAuthHttpClient,
        issuer: &TrustedIssuer,
    ) -> Result<(), TokenError> {
        if let Some((at, error)) = &self.lock().last_failure
            && at.elapsed() < FAILURE_PAUSE
        {
            return Err(TokenError::Unavailable(error.clone()));
        }
        match fetch_keys(client, issuer).await {
            Ok(keys) => {
                *self.lock() = KeySetState { keys: Some(keys), last_failure: None };
                Ok(())
            }
            Err(error) => {
                tracing::error!(issuer = issuer.issuer, %error, "the keys of the issuer cannot be fetched, so its tokens are refused");
                self.lock().last_failure = Some((Instant::now(), error.clone()));
                Err(TokenError::Unavailable(error))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, KeySetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeySetState {
    /// The keys that are not expired. Expired keys are not used, since the issuer may have
    /// withdrawn one.
    fn unexpired_keys(&self) -> Option<Arc<[Jwk]>> {
        let unexpired = self.keys.as_ref().filter(|keys| Instant::now() < keys.until);
        unexpired.map(|fetched| Arc::clone(&fetched.keys))
    }

    /// Whether a fetch may bring the token's key: there are no cached keys, or they are older than
    /// the refetch pause and lack the key that the token names.
    fn needs_fetch(&self, jwt: &Jwt<'_>) -> bool {
        let Some(keys) = self.unexpired_keys() else { return true };
        let is_known = |id| keys.iter().any(|key| key.key_id.as_deref() == Some(id));
        let is_old =
            self.keys.as_ref().is_some_and(|keys| keys.fetched_at.elapsed() >= REFETCH_PAUSE);
        is_old && !jwt.key_id().is_some_and(is_known)
    }
}

async fn fetch_keys(
    http_client: &OAuthHttpClient,
    issuer: &TrustedIssuer,
) -> Result<FetchedKeys, OAuthError> {
    let invalid = |reason| OAuthError::Document { what: DOCUMENT_NAME, reason };
    let uri = match &issuer.jwks_uri {
        Some(uri) => uri.clone(),
        None => {
            let server = AuthorizationServer::discover(http_client, &issuer.issuer).await?;
            server.jwks_uri.ok_or_else(|| invalid("its metadata has no `jwks_uri`"))?
        }
    };
    let document = http_client.get(DOCUMENT_NAME, &uri).await?;
    if document.status != 200 {
        let reason = format!("the answer has status {}", document.status);
        return Err(OAuthError::Unavailable { what: DOCUMENT_NAME, reason });
    }
    let keys = document.value.get("keys").and_then(Value::as_array);
    let keys = keys.ok_or_else(|| invalid("it is not a set of keys"))?;
    if keys.len() > MAX_KEYS {
        return Err(invalid("it has more than 100 keys"));
    }
    let keys: Arc<[Jwk]> = keys.iter().filter_map(Jwk::parse).collect();
    let (fetched_at, lifetime) = (
        Instant::now(),
        document.max_age.unwrap_or(DEFAULT_LIFETIME).clamp(MIN_LIFETIME, MAX_LIFETIME),
    );
    Ok(FetchedKeys { keys, fetched_at, until: fetched_at + lifetime })
}

#[cfg(test)]
mod tests;
