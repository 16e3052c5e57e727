//! Token introspection (RFC 7662): the issuer is asked about a token that is opaque to us.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;
use weaver_drivers::http::Secret;
use weaver_drivers::oauth::{AuthorizationServer, OAuthError, OAuthHttpClient};
use weaver_policy::TrustedIssuer;

use super::access_token::{ClaimSource, ExpectedClaims, VerifiedToken};
use super::error::TokenError;
use crate::config::IntrospectionClient;

const DOCUMENT_NAME: &str = "what the issuer says of a token";
/// How long an answer is cached. A revoked token stays usable for at most that long.
const CACHE_LIFETIME: Duration = Duration::from_secs(30);
/// How long a refusal is cached. It spares the issuer a client that repeats a token that is not
/// valid, and is so short that a token that becomes valid is soon accepted.
const REFUSAL_LIFETIME: Duration = Duration::from_secs(5);
/// How long an endpoint that could not be found is not looked for again.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);
/// The most cached answers, and the most cached refusals. They are separate, so that somebody who
/// makes up tokens displaces no valid one.
const MAX_CACHED: usize = 1_000;

/// The most questions to an issuer at once about tokens that it never vouched for, and about others.
/// Anybody can make up tokens; those who do so delay no client whose token was accepted before.
const MAX_UNKNOWN_QUESTIONS: usize = 4;
const MAX_KNOWN_QUESTIONS: usize = 16;
/// How long a token waits for its question.
const QUESTION_PATIENCE: Duration = Duration::from_secs(2);
/// How long the client secret is used before it is read again: it may come from a program.
const SECRET_LIFETIME: Duration = Duration::from_secs(60);

/// The cached answers of one issuer, by the digests of the tokens, and the bounds of further
/// questions.
pub(super) struct IntrospectionCache {
    accepted: Mutex<ExpiringAnswers<VerifiedToken>>,
    refused: Mutex<ExpiringAnswers<TokenError>>,
    known_questions: Semaphore,
    unknown_questions: Semaphore,
    secret: tokio::sync::Mutex<Option<(Arc<Secret>, Instant)>>,
}

impl Default for IntrospectionCache {
    fn default() -> Self {
        Self {
            accepted: Mutex::default(),
            refused: Mutex::default(),
            known_questions: Semaphore::new(MAX_KNOWN_QUESTIONS),
            unknown_questions: Semaphore::new(MAX_UNKNOWN_QUESTIONS),
            secret: tokio::sync::Mutex::default(),
        }
    }
}

/// Answers that expire, in bounded number.
struct ExpiringAnswers<T>(BTreeMap<TokenDigest, (T, Instant)>);

type TokenDigest = [u8; 32];

impl<T> Default for ExpiringAnswers<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Clone> ExpiringAnswers<T> {
    fn find(&self, digest: &TokenDigest) -> Option<T> {
        let (answer, until) = self.0.get(digest)?;
        (Instant::now() < *until).then(|| answer.clone())
    }

    /// Whether there is or was an answer for a token.
    fn knows(&self, digest: &TokenDigest) -> bool {
        self.0.contains_key(digest)
    }

    /// Caches an answer, unless the cache is full. The issuer is asked again then, which is slower
    /// but just as safe.
    fn insert(&mut self, digest: TokenDigest, answer: T, lifetime: Duration) {
        let now = Instant::now();
        if self.0.len() >= MAX_CACHED {
            self.0.retain(|_, (_, until)| now < *until);
        }
        if self.0.len() < MAX_CACHED {
            self.0.insert(digest, (answer, now + lifetime));
        }
    }
}

/// The introspection endpoint of an issuer, and the client credentials for it.
pub(super) struct Introspector<'a> {
    pub(super) http_client: &'a OAuthHttpClient,
    pub(super) endpoint: &'a str,
    pub(super) client: &'a IntrospectionClient,
}

impl IntrospectionCache {
    /// Verifies a token through its issuer. That the issuer cannot be asked is not cached.
    pub(super) async fn verify(
        &self,
        introspector: &Introspector<'_>,
        expected: &ExpectedClaims<'_>,
        token: &str,
    ) -> Result<VerifiedToken, TokenError> {
        let digest: TokenDigest = Sha256::digest(token.as_bytes()).into();
        let accepted = lock(&self.accepted).find(&digest);
        let is_valid = |token: &VerifiedToken| token.expires.is_none_or(|end| expected.now < end);
        if let Some(accepted) = accepted.filter(is_valid) {
            return Ok(accepted);
        }
        if let Some(refused) = lock(&self.refused).find(&digest) {
            return Err(refused);
        }
        let questions = match lock(&self.accepted).knows(&digest) {
            true => &self.known_questions,
            false => &self.unknown_questions,
        };
        let question = tokio::time::timeout(QUESTION_PATIENCE, questions.acquire()).await;
        let Ok(Ok(_question)) = question else {
            return Err(unavailable("too many tokens wait for an answer".to_owned()));
        };
        // Another request may have asked about it meanwhile.
        if let Some(refused) = lock(&self.refused).find(&digest) {
            return Err(refused);
        }
        let answer = match self.client_secret(introspector.client).await {
            Ok(secret) => introspector.introspect(expected, token, &secret).await,
            Err(error) => Err(error),
        };
        match &answer {
            Ok(token) => lock(&self.accepted).insert(digest, token.clone(), CACHE_LIFETIME),
            // The secret may have been replaced.
            Err(error) if error.is_unavailable() => *self.secret.lock().await = None,
            Err(error) => lock(&self.refused).insert(digest, error.clone(), REFUSAL_LIFETIME),
        }
        answer
    }

    /// The client secret, which is read at most once a minute.
    async fn client_secret(&self, client: &IntrospectionClient) -> Result<Arc<Secret>, TokenError> {
        let mut cached = self.secret.lock().await;
        if let Some((secret, read_at)) = &*cached
            && read_at.elapsed() < SECRET_LIFETIME
        {
            return Ok(Arc::clone(secret));
        }
        let secret = client.secret.provider().secret().await;
        let secret = Arc::new(secret.map_err(|error| unavailable(error.to_string()))?);
        *cached = Some((Arc::clone(&secret), Instant::now()));
        Ok(secret)
    }
}

fn unavailable(reason: String) -> TokenError {
    TokenError::Unavailable(OAuthError::Unavailable { what: DOCUMENT_NAME, reason })
}

/// A poisoned lock is used anyway: no update of a cache can panic halfway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Introspector<'_> {
    async fn introspect(
        &self,
        expected: &ExpectedClaims<'_>,
        token: &str,
        secret: &Secret,
    ) -> Result<VerifiedToken, TokenError> {
        let form = [("token", token), ("token_type_hint", "access_token")];
        let basic = Some((self.client.client_id.as_str(), secret));
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
                return Err(unavailable(format!(
                    "the answer has status {status}, or is not an object"
                )));
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
            return Err(TokenError::Invalid("it is not a bearer token"));
        }
        expected.check(claims, ClaimSource::Introspection)
    }
}

/// The introspection endpoint of one issuer, once it is known.
#[derive(Default)]
pub(super) struct IntrospectionEndpoint {
    known: OnceCell<String>,
    last_failure: Mutex<Option<(Instant, TokenError)>>,
}

impl IntrospectionEndpoint {
    /// The endpoint. While it could not be found a moment ago, that is the answer, so that an
    /// issuer that cannot be reached does not delay every token of another.
    pub(super) async fn find<F>(&self, find: impl FnOnce() -> F) -> Result<&str, TokenError>
    where
        F: Future<Output = Result<String, TokenError>>,
    {
        let attempt = || async {
            if let Some((at, error)) = &*lock(&self.last_failure)
                && at.elapsed() < FAILURE_PAUSE
            {
                return Err(error.clone());
            }
            let found = find().await;
            if let Err(error) = &found {
                *lock(&self.last_failure) = Some((Instant::now(), error.clone()));
            }
            found
        };
        self.known.get_or_try_init(attempt).await.map(String::as_str)
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
    let server = AuthorizationServer::discover(http_client, &issuer.issuer).await;
    let server = server.map_err(TokenError::Unavailable)?;
    server.introspection_endpoint.ok_or(TokenError::Unavailable(OAuthError::Document {
        what: DOCUMENT_NAME,
        reason: "the issuer's metadata has no `introspection_endpoint`",
    }))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_cache_is_bounded_and_its_answers_expire() {
        let digest = |n: usize| -> TokenDigest { Sha256::digest(n.to_string()).into() };
        let mut cache = ExpiringAnswers::default();
        for n in 0..=MAX_CACHED {
            cache.insert(digest(n), n, Duration::from_secs(3_600));
        }
        assert_eq!(cache.0.len(), MAX_CACHED);
        assert_eq!((cache.find(&digest(0)), cache.find(&digest(MAX_CACHED))), (Some(0), None));
        let mut cache = ExpiringAnswers::default();
        for n in 0..MAX_CACHED {
            cache.insert(digest(n), n, Duration::ZERO);
        }
        assert_eq!(cache.find(&digest(0)), None);
        cache.insert(digest(MAX_CACHED), MAX_CACHED, Duration::from_secs(3_600));
        assert_eq!((cache.0.len(), cache.find(&digest(MAX_CACHED))), (1, Some(MAX_CACHED)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_endpoint_that_is_not_found_is_left_alone_for_a_moment() {
        let (endpoint, attempts) = (IntrospectionEndpoint::default(), Cell::new(0));
        let attempt = |found: Result<String, TokenError>| {
            let attempts = &attempts;
            async move {
                attempts.set(attempts.get() + 1);
                found
            }
        };
        let failure = TokenError::Invalid("it is away");
        let mut found = Vec::new();
        for _ in 0..3 {
            found.push(endpoint.find(|| attempt(Err(failure.clone()))).await);
        }
        assert_eq!((found, attempts.get()), (vec![Err(failure.clone()); 3], 1));
        tokio::time::advance(FAILURE_PAUSE).await;
        for _ in 0..3 {
            let found = endpoint.find(|| attempt(Ok("https://a.example".to_owned()))).await;
            assert_eq!(found, Ok("https://a.example"));
        }
        assert_eq!(attempts.get(), 2);
    }
}
