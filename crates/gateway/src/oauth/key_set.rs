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
    /// Whether the log says that tokens wait for the next fetch.
    warned: bool,
}

/// What the cached keys mean for a token that none of them verifies.
enum KeyLookup {
    /// They have the key that the token names, so its signature is wrong.
    Known,
    /// A fetch may bring the token's key.
    Fetch,
    /// So would a fetch, but the last one is too recent.
    TooRecent { retry_after: Duration },
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
        let lookup = self.lock().lookup(jwt);
        match lookup {
            KeyLookup::Known => {}
            KeyLookup::Fetch => self.fetch(client, issuer).await?,
            KeyLookup::TooRecent { retry_after } => {
                self.warn_once(issuer, retry_after);
                return Err(TokenError::KeysTooRecent { retry_after });
            }
        }
        drop(fetching);
        if self.is_signed_by_known_key(jwt) {
            return Ok(());
        }
        Err(TokenError::Signature)
    }

    fn is_signed_by_known_key(&self, jwt: &Jwt<'_>) -> bool {
        let keys = self.lock().unexpired_keys();
        // A token that names a key is verified with that key only.
        let fitting = |key: &&Jwk| jwt.key_id().is_none() || key.key_id.as_deref() == jwt.key_id();
        keys.iter().flat_map(|keys| keys.iter()).filter(fitting).any(|key| jwt.verify(key))
    }

    /// Warns once for each fetch: anybody can make up key ids.
    fn warn_once(&self, issuer: &TrustedIssuer, retry_after: Duration) {
        let warned =
            self.lock().keys.as_mut().map(|keys| std::mem::replace(&mut keys.warned, true));
        if warned == Some(false) {
            let seconds = retry_after.as_secs();
            tracing::warn!(
                issuer = issuer.issuer,
                seconds,
                "a token has a signature of a key that the issuer did not have when its keys were fetched last; such tokens are answered with 429 until they are fetched again"
            );
        }
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

    /// Whether a fetch may bring the token's key: there are no cached keys, or they lack the key
    /// that the token names. Keys younger than the refetch pause are not fetched again.
    fn lookup(&self, jwt: &Jwt<'_>) -> KeyLookup {
        let (Some(keys), Some(fetched)) = (self.unexpired_keys(), &self.keys) else {
            return KeyLookup::Fetch;
        };
        let is_known = |id| keys.iter().any(|key| key.key_id.as_deref() == Some(id));
        if jwt.key_id().is_some_and(is_known) {
            return KeyLookup::Known;
        }
        match REFETCH_PAUSE.checked_sub(fetched.fetched_at.elapsed()) {
            Some(retry_after) if !retry_after.is_zero() => KeyLookup::TooRecent { retry_after },
            _ => KeyLookup::Fetch,
        }
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
    Ok(FetchedKeys { keys, fetched_at, until: fetched_at + lifetime, warned: false })
}

#[cfg(test)]
mod tests;
