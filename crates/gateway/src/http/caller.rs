//! Authenticates the sender of a request: a client of the gateway by its own token, or the subject
//! of an issuer's token.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use weaver_policy::{IdentityError, Policy, TokenIdentity};
use weaver_types::{Principal, Timestamp};

use super::refusals::{RefusedRequest, RefusedSender};
use super::token_keys::{run_key, session_key};
use super::{HttpGateway, now};
use crate::client_registry::{ClientAccess, HttpClient, TOKEN_PREFIX, TokenLookup};
use crate::oauth::{ResourceServer, TokenError, VerifiedToken, scopes};
use crate::serve::{ClientKey, SessionOwner};
use crate::telemetry::HttpRefusal;

/// The error code of an invalid token (RFC 6750 §3.1).
const INVALID_TOKEN: &str = "invalid_token";

/// The key of sessions and runs of clients without a token. It contains a colon, which client names
/// cannot.
const ANONYMOUS_KEY: &str = "anonymous:";

/// How long sessions live after the last request with a token that does not say when it expires.
const UNSTATED_LIFETIME: Duration = Duration::from_secs(30 * 60);

/// How much of a token's own scopes a challenge repeats.
const MAX_REPEATED_SCOPE_BYTES: usize = 2_048;

/// The authenticated sender of a request.
#[derive(Debug, Clone)]
pub(super) enum Caller {
    /// A client without a token, if the configuration allows it.
    Anonymous,
    /// A client registered at the gateway.
    Client(HttpClient),
    /// The subject of an issuer's token.
    Token(TokenCaller),
}

/// The subject of an issuer's token.
#[derive(Debug, Clone)]
pub(super) struct TokenCaller {
    /// The key of its sessions: subject, client, roles, groups and scopes. A token with other
    /// rights does not reach these sessions.
    session_key: String,
    /// The key of its runs: subject and client, whatever the roles.
    run_key: String,
    label: String,
    identity: Arc<TokenIdentity>,
    /// The client that the token was issued to.
    client: String,
    profile: Option<String>,
    /// Until when its sessions live, unless it comes again.
    expires: Timestamp,
}

/// Why a request is refused.
#[derive(Debug)]
pub(super) struct AuthRefusal {
    status: StatusCode,
    refused: Box<RefusedRequest>,
    challenge: Option<String>,
    /// When the client may try again with the same token.
    retry_seconds: Option<u64>,
}

impl AuthRefusal {
    fn unauthorized(
        gateway: &HttpGateway,
        error: Option<&'static str>,
        refused: RefusedRequest,
    ) -> Self {
        let challenge = match &gateway.resource_server {
            Some(resource) => {
                let policy = gateway.server.policy();
                resource.challenge(error, &scopes(policy.policy()))
            }
            None => "Bearer realm=\"weaver\"".to_owned(),
        };
        Self {
            status: StatusCode::UNAUTHORIZED,
            refused: Box::new(refused),
            challenge: Some(challenge),
            retry_seconds: None,
        }
    }

    /// Notes who sent the request.
    fn sent_by(mut self, sender: RefusedSender) -> Self {
        self.refused.sender = sender;
        self
    }

    pub(super) fn into_response(self) -> Response {
        let mut response = (self.status, format!("{}\n", self.refused.problem)).into_response();
        response.extensions_mut().insert(*self.refused);
        if let Some(challenge) = self.challenge.and_then(|text| HeaderValue::from_str(&text).ok()) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        if let Some(seconds) = self.retry_seconds {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl Caller {
    /// What its token is for.
    pub(super) fn access(&self) -> ClientAccess {
        match self {
            Self::Client(client) => client.access,
            Self::Anonymous | Self::Token(_) => ClientAccess::Sessions,
        }
    }

    /// The name of the client that is registered at the gateway.
    pub(super) fn client_name(&self) -> Option<&str> {
        match self {
            Self::Client(client) => Some(&client.name),
            Self::Anonymous | Self::Token(_) => None,
        }
    }

    /// The digest of its token, for a client that is registered at the gateway.
    pub(super) fn token_digest(&self) -> Option<&str> {
        match self {
            Self::Client(client) => Some(client.token_digest()),
            Self::Anonymous | Self::Token(_) => None,
        }
    }

    /// Whether it may read the metrics of the whole gateway, which name servers, calls and outcomes of
    /// everybody: with a token for them, or as the gateway's own principal.
    pub(super) fn may_read_metrics(&self, gateway: &HttpGateway) -> bool {
        match self {
            Self::Anonymous => true,
            Self::Client(client) => {
                client.access == ClientAccess::Metrics
                    || client.principal == gateway.server.config().principal
            }
            Self::Token(_) => false,
        }
    }

    /// Authenticates a request by its token.
    pub(super) async fn authenticate(
        gateway: &HttpGateway,
        headers: &HeaderMap,
    ) -> Result<Self, AuthRefusal> {
        let refused = |reason, problem: &str| {
            AuthRefusal::unauthorized(gateway, None, RefusedRequest::new(reason, problem))
        };
        let header = HttpRefusal::Header;
        let mut values = headers.get_all(AUTHORIZATION).into_iter();
        let Some(first) = values.next() else {
            return match gateway.settings.anonymous {
                true => Ok(Self::Anonymous),
                false => {
                    let problem = "a token is needed: `weaver clients add NAME` makes one";
                    Err(refused(HttpRefusal::NoToken, problem))
                }
            };
        };
        if values.next().is_some() {
            return Err(refused(header, "there are two `Authorization` headers"));
        }
        let text = first.to_str().unwrap_or_default();
        let token = match text.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
            _ => {
                return Err(refused(header, "the `Authorization` header must be `Bearer TOKEN`"));
            }
        };
        match &gateway.resource_server {
            // A token of ours is never sent to an issuer, even if it is misspelt.
            Some(resource) if !token.starts_with(TOKEN_PREFIX) && !token.is_empty() => {
                Self::from_issuer_token(gateway, resource, token).await
            }
            _ => Self::from_own_token(gateway, token),
        }
    }

    fn from_own_token(gateway: &HttpGateway, token: &str) -> Result<Self, AuthRefusal> {
        let refused = |reason, problem: &str| {
            let refused = RefusedRequest::new(reason, problem);
            AuthRefusal::unauthorized(gateway, Some(INVALID_TOKEN), refused)
        };
        // The same answer for all: whoever guesses tokens learns nothing.
        let problem = "the token is not known, was removed, or has expired";
        match gateway.clients.look_up(token, gateway.server.expiry_time()) {
            Ok(TokenLookup::Valid(client)) => Ok(Self::Client(*client)),
            Ok(TokenLookup::Expired(client)) => Err(refused(HttpRefusal::ExpiredToken, problem)
                .sent_by(RefusedSender::Client(client.name))),
            Ok(TokenLookup::Removed(name)) => {
                Err(refused(HttpRefusal::RemovedToken, problem)
                    .sent_by(RefusedSender::Client(name)))
            }
            Ok(TokenLookup::Unknown) => Err(refused(HttpRefusal::UnknownToken, problem)),
            Err(error) => {
                tracing::error!(%error, "the clients cannot be read; nobody is let in");
                let problem = "the clients cannot be read; the log says why";
                Err(refused(HttpRefusal::Clients, problem))
            }
        }
    }

    async fn from_issuer_token(
        gateway: &HttpGateway,
        resource_server: &ResourceServer,
        token: &str,
    ) -> Result<Self, AuthRefusal> {
        let policy = gateway.server.policy();
        let verified = match resource_server.verify(policy.policy(), token, now()).await {
            Ok(verified) => verified,
            Err(error) => {
                let refused = RefusedRequest {
                    sender: RefusedSender::claimed_by(token),
                    ..RefusedRequest::new(token_refusal(&error), error.to_string())
                };
                if error.is_unavailable() {
                    // Anybody can make up a key id: a proxy that takes a gateway with 5xx answers for
                    // ill must not take it out of service for that.
                    let status = match error {
                        TokenError::KeysTooRecent { .. } => StatusCode::TOO_MANY_REQUESTS,
                        _ => StatusCode::SERVICE_UNAVAILABLE,
                    };
                    let retry_seconds = error.retry_seconds();
                    let refused = Box::new(refused);
                    return Err(AuthRefusal { status, refused, challenge: None, retry_seconds });
                }
                return Err(AuthRefusal::unauthorized(gateway, Some(INVALID_TOKEN), refused));
            }
        };
        match policy.policy().principal_for_token(&verified.identity) {
            Ok(principal) => {
                let profile = resource_server.client_profile().map(str::to_owned);
                Ok(Self::Token(TokenCaller::new(verified, &principal, profile, now())))
            }
            Err(error) => {
                let (reason, challenge) = match &error {
                    IdentityError::MissingScopes { missing } => {
                        // A client that asks for exactly these scopes must not lose others.
                        let present = repeatable_scopes(&verified.identity.scopes);
                        let scopes = missing.iter().map(String::as_str).chain(present).collect();
                        let challenge =
                            resource_server.challenge(Some("insufficient_scope"), &scopes);
                        (HttpRefusal::Scope, Some(challenge))
                    }
                    _ => (HttpRefusal::NoRole, None),
                };
                let TokenIdentity { issuer, subject, .. } = &verified.identity;
                let refused = RefusedRequest {
                    sender: RefusedSender::identified(issuer, subject),
                    ..RefusedRequest::new(reason, error.to_string())
                };
                let status = StatusCode::FORBIDDEN;
                let refused = Box::new(refused);
                Err(AuthRefusal { status, refused, challenge, retry_seconds: None })
            }
        }
    }

    /// The key of its sessions. A client added again under a former name, or one called
    /// `anonymous`, does not reach sessions of another.
    pub(super) fn session_key(&self) -> String {
        match self {
            Self::Anonymous => ANONYMOUS_KEY.to_owned(),
            Self::Client(client) => client.session_key(),
            Self::Token(token) => token.session_key.clone(),
        }
    }

    /// Whether its sessions end, although nobody ended them: its token has expired, or the policy
    /// now grants it nothing or other rights. A client registered at the gateway is judged by the
    /// registry.
    pub(super) fn has_lost_access(&self, policy: &Policy, now: Timestamp) -> bool {
        match self {
            Self::Anonymous | Self::Client(_) => false,
            Self::Token(token) => {
                let principal = policy.principal_for_token(&token.identity);
                let key = |principal| session_key(&token.identity, &token.client, &principal);
                now >= token.expires || principal.map(key).ok().as_ref() != Some(&token.session_key)
            }
        }
    }

    /// Whether its token is valid for longer than that of `other`.
    pub(super) fn outlives(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Token(one), Self::Token(other)) => one.expires > other.expires,
            // A client's newer token outlives the one that it replaces.
            (Self::Client(one), Self::Client(other)) => one.created >= other.created,
            _ => false,
        }
    }

    /// The owner of its sessions.
    pub(super) fn owner(&self) -> SessionOwner {
        match self {
            Self::Anonymous => SessionOwner {
                client: ClientKey::Token(ANONYMOUS_KEY.to_owned()),
                principal: None,
                identity: None,
                profile: None,
                folder: None,
                label: "http anonymous".to_owned(),
            },
            Self::Client(client) => SessionOwner {
                client: ClientKey::Token(client.name.clone()),
                principal: Some(client.principal.clone()),
                identity: None,
                profile: client.profile.clone(),
                folder: None,
                label: format!("http {}", client.name),
            },
            Self::Token(token) => SessionOwner {
                client: ClientKey::Token(token.run_key.clone()),
                principal: None,
                identity: Some(Arc::clone(&token.identity)),
                profile: token.profile.clone(),
                folder: None,
                label: token.label.clone(),
            },
        }
    }
}

impl TokenCaller {
    pub(super) fn new(
        token: VerifiedToken,
        principal: &Principal,
        profile: Option<String>,
        now: Timestamp,
    ) -> Self {
        let VerifiedToken { identity, client_id, expires } = token;
        let client = client_id.unwrap_or_default();
        Self {
            session_key: session_key(&identity, &client, principal),
            run_key: run_key(&identity, &client),
            label: format!("http {}", principal.id),
            identity: Arc::new(identity),
            client,
            profile,
            expires: expires.unwrap_or_else(|| now.after(UNSTATED_LIFETIME)),
        }
    }
}

/// Why a token of an issuer is refused, for metrics and the log.
fn token_refusal(error: &TokenError) -> HttpRefusal {
    match error {
        TokenError::Malformed(_) => HttpRefusal::MalformedToken,
        TokenError::Unavailable(_) => HttpRefusal::IssuerUnavailable,
        TokenError::KeysTooRecent { .. } => HttpRefusal::UnknownKey,
        TokenError::Expired => HttpRefusal::ExpiredToken,
        TokenError::OtherAudience => HttpRefusal::Audience,
        TokenError::Signature => HttpRefusal::Signature,
        TokenError::UntrustedIssuer => HttpRefusal::Issuer,
        TokenError::Invalid(_) => HttpRefusal::InvalidToken,
    }
}

/// The scopes of a token that a header can repeat (RFC 6749 §3.3), up to a bound.
fn repeatable_scopes(scopes: &BTreeSet<String>) -> impl Iterator<Item = &str> {
    let is_scope_byte = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    let mut room = MAX_REPEATED_SCOPE_BYTES;
    scopes
        .iter()
        .map(String::as_str)
        .filter(move |scope| scope.bytes().all(is_scope_byte))
        .take_while(move |scope| {
            let left = room.checked_sub(scope.len().saturating_add(1));
            room = left.unwrap_or_default();
            left.is_some()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_repeats_scopes_that_a_header_can_hold() {
        let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let scopes: BTreeSet<String> = set(&["a", "b:c", "d\"e", "f\\g", "h i", "\u{e4}", "z"]);
        assert_eq!(repeatable_scopes(&scopes).collect::<Vec<_>>(), ["a", "b:c", "z"]);
        let many: BTreeSet<String> = (0..1_000).map(|n| format!("scope{n:04}")).collect();
        assert_eq!(repeatable_scopes(&many).count(), 204);
    }
}
