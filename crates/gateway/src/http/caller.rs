//! Who sends a request: a client of ours, by its token, or whoever an issuer's token speaks for.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};
use weaver_policy::{IdentityError, TokenIdentity};
use weaver_types::{Principal, hex};

use super::clients::{HttpClient, PREFIX};
use super::{HttpGateway, now};
use crate::oauth::{ResourceServer, TokenError, VerifiedToken, scopes};
use crate::serve::{ClientKey, SessionOwner};

/// The error code of a token that does not count (RFC 6750 §3.1).
const INVALID: &str = "invalid_token";

/// Whose sessions and runs those of clients without a token are. No name of a client of ours has a
/// colon in it.
const ANONYMOUS: &str = "anonymous:";

/// Who sends a request.
#[derive(Debug, Clone)]
pub(super) enum Caller {
    /// A client without a token, where the configuration lets it in.
    Anonymous,
    /// A client of ours.
    Client(HttpClient),
    /// Whoever an issuer's token speaks for.
    Token(TokenCaller),
}

/// Whoever an issuer's token speaks for.
#[derive(Debug, Clone)]
pub(super) struct TokenCaller {
    /// Whose sessions these are: subject, client, roles, groups and scopes. A token with others reaches
    /// none of them.
    session_key: String,
    /// Whose runs these are: subject and client, with whatever roles.
    run_key: String,
    label: String,
    identity: Arc<TokenIdentity>,
    profile: Option<String>,
}

/// Why a request goes no further.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    problem: String,
    challenge: Option<String>,
}

impl Refusal {
    fn unauthorized(
        gateway: &HttpGateway,
        error: Option<&'static str>,
        problem: impl Into<String>,
    ) -> Self {
        let challenge = match &gateway.resource {
            Some(resource) => {
                let policy = gateway.server.policy();
                resource.challenge(error, &scopes(policy.policy()))
            }
            None => "Bearer realm=\"weaver\"".to_owned(),
        };
        let problem = problem.into();
        Self { status: StatusCode::UNAUTHORIZED, problem, challenge: Some(challenge) }
    }

    pub(super) fn into_response(self) -> Response {
        let mut response = (self.status, format!("{}\n", self.problem)).into_response();
        if let Some(challenge) = self.challenge.and_then(|text| HeaderValue::from_str(&text).ok()) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

impl Caller {
    /// Whose token the request has.
    pub(super) async fn of(gateway: &HttpGateway, headers: &HeaderMap) -> Result<Self, Refusal> {
        let refused = |problem: &str| Refusal::unauthorized(gateway, None, problem);
        let mut given = headers.get_all(AUTHORIZATION).into_iter();
        let Some(first) = given.next() else {
            return match gateway.settings.anonymous {
                true => Ok(Self::Anonymous),
                false => Err(refused("a token is needed: `weaver clients add NAME` makes one")),
            };
        };
        if given.next().is_some() {
            return Err(refused("there are two `Authorization` headers"));
        }
        let text = first.to_str().unwrap_or_default();
        let token = match text.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
            _ => return Err(refused("the `Authorization` header must be `Bearer TOKEN`")),
        };
        match &gateway.resource {
            // A token of ours goes to no issuer, also where it is misspelt.
            Some(resource) if !token.starts_with(PREFIX) && !token.is_empty() => {
                Self::of_issuer(gateway, resource, token).await
            }
            _ => Self::of_ours(gateway, token),
        }
    }

    fn of_ours(gateway: &HttpGateway, token: &str) -> Result<Self, Refusal> {
        let refused = |problem: &str| Refusal::unauthorized(gateway, Some(INVALID), problem);
        match gateway.clients.find(token, now()) {
            Ok(Some(client)) => Ok(Self::Client(client)),
            Ok(None) => Err(refused("the token is not known, was removed, or has expired")),
            Err(error) => {
                tracing::error!(%error, "the clients cannot be read; nobody is let in");
                Err(refused("the clients cannot be read; the log says why"))
            }
        }
    }

    async fn of_issuer(
        gateway: &HttpGateway,
        resource: &ResourceServer,
        token: &str,
    ) -> Result<Self, Refusal> {
        let policy = gateway.server.policy();
        let verified = match resource.verify(policy.policy(), token, now()).await {
            Ok(verified) => verified,
            Err(error @ TokenError::Unavailable(_)) => {
                let (status, problem) = (StatusCode::SERVICE_UNAVAILABLE, error.to_string());
                return Err(Refusal { status, problem, challenge: None });
            }
            Err(error) => {
                return Err(Refusal::unauthorized(gateway, Some(INVALID), error.to_string()));
            }
        };
        match policy.policy().identify(&verified.identity) {
            Ok(principal) => {
                let profile = resource.profile().map(str::to_owned);
                Ok(Self::Token(TokenCaller::new(verified, &principal, profile)))
            }
            Err(error) => {
                let challenge = match &error {
                    IdentityError::MissingScopes { missing } => {
                        let missing: BTreeSet<&str> = missing.iter().map(String::as_str).collect();
                        Some(resource.challenge(Some("insufficient_scope"), &missing))
                    }
                    _ => None,
                };
                Err(Refusal {
                    status: StatusCode::FORBIDDEN,
                    problem: error.to_string(),
                    challenge,
                })
            }
        }
    }

    /// Whose sessions these are. A client that is added anew under a name that there was, and one whose
    /// name is `anonymous`, reach none of another's.
    pub(super) fn session_key(&self) -> String {
        match self {
            Self::Anonymous => ANONYMOUS.to_owned(),
            Self::Client(client) => client.session_key(),
            Self::Token(token) => token.session_key.clone(),
        }
    }

    /// The owner of its sessions.
    pub(super) fn owner(&self) -> SessionOwner {
        match self {
            Self::Anonymous => SessionOwner {
                client: ClientKey::Token(ANONYMOUS.to_owned()),
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
    fn new(token: VerifiedToken, principal: &Principal, profile: Option<String>) -> Self {
        let VerifiedToken { identity, client_id, .. } = token;
        let client = client_id.unwrap_or_default();
        // No name of a client of ours has a colon in it.
        let key = |parts: &[&str]| format!("oauth:{}", digest(parts));
        let whose = [identity.issuer.as_str(), &identity.subject, &client];
        let all =
            |set: &BTreeSet<String>| digest(&set.iter().map(String::as_str).collect::<Vec<_>>());
        // The identity stays with the session, and a policy to come may give a group or a scope more:
        // who lacks it does not come into that session.
        let [roles, groups, scopes] =
            [&principal.roles, &identity.groups, &identity.scopes].map(all);
        let rights = [principal.id.as_str(), &roles, &groups, &scopes];
        Self {
            session_key: key(&[&whose[..], &rights].concat()),
            run_key: key(&whose),
            label: format!("http {}", principal.id),
            identity: Arc::new(identity),
            profile,
        }
    }
}

/// A digest of texts in their order, each with its length, so that none runs into the next.
fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    hex(digest.get(..16).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use weaver_types::{PrincipalId, Timestamp};

    use super::*;

    #[test]
    fn the_sessions_of_a_token_are_those_of_its_whole_identity() {
        let key = |groups: &[&str], scopes: &[&str]| {
            let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
            let identity = TokenIdentity {
                issuer: "https://issuer.example".to_owned(),
                subject: "ana".to_owned(),
                groups: set(groups),
                scopes: set(scopes),
            };
            let token =
                VerifiedToken { identity, client_id: None, expires: Timestamp::from_micros(0) };
            let principal = Principal::new(PrincipalId::parse("ana").unwrap());
            TokenCaller::new(token, &principal, None).session_key
        };
        let whole = key(&["staff"], &["read", "write"]);
        assert_eq!(whole, key(&["staff"], &["write", "read"]));
        for other in [key(&["staff"], &["read"]), key(&[], &["read", "write"])] {
            assert_ne!(whole, other);
        }
        assert_ne!(key(&["a"], &["b"]), key(&["a", "b"], &[]));
    }
}
