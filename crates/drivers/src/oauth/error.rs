//! Why there is no token.

/// Why there is no token, or no document of an authorization server. No message has any of a token,
/// a code or a secret, nor words of the authorization server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OAuthError {
    /// An address cannot be used.
    #[error("`{what}` is no address that may be asked: {reason}")]
    Address {
        /// Which one.
        what: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// Nobody answered, or not with a document.
    #[error("{what} cannot be had: {reason}")]
    Unavailable {
        /// What was asked for.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// A document breaks a rule.
    #[error("{what} cannot be used: {reason}")]
    Document {
        /// Which one.
        what: &'static str,
        /// The rule.
        reason: &'static str,
    },
    /// The authorization server names no way to prove who asked for a code.
    #[error("the authorization server does not offer PKCE with S256, which is required")]
    NoPkce,
    /// The authorization server takes no proof of a key that this client makes.
    #[error(
        "tokens of this server must be bound to a key, and its authorization server takes no DPoP \
         proof that is signed with ES256; ask its operator, or remove `dpop_bound_access_tokens` \
         under `oauth` of the server in weaver.toml where that is what demands it"
    )]
    NoDpop,
    /// The private key by which this client proves who it is cannot be used.
    #[error(
        "the private key that `client_key` under `oauth` of the server names cannot be used: {reason}"
    )]
    ClientKey {
        /// Why not.
        reason: String,
    },
    /// No way is left in which this client can be known there.
    #[error(
        "the authorization server registers no clients; get a client id there and write \
         `client_id` under `oauth` of the server in weaver.toml"
    )]
    NoRegistration,
    /// The authorization server sent the browser back with something else than was asked for.
    #[error("the answer of the authorization server is refused: {reason}")]
    Redirect {
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// The authorization server refused.
    #[error("the authorization server refused: {code}")]
    Refused {
        /// The error code, one of those that the specification lists.
        code: &'static str,
    },
    /// Nobody is logged in, and nobody is here who could be asked.
    #[error("nobody is logged in there, or the login has ended")]
    LoginRequired,
    /// The token lacks scopes, and nobody is here who could be asked for more.
    #[error("the login does not cover what was asked for")]
    InsufficientScope,
    /// Logins cannot be read or written.
    #[error("the logins cannot be read or written: {0}")]
    Store(String),
    /// The person did not answer in time, or turned away.
    #[error("the login was not finished: {0}")]
    Unfinished(&'static str),
}

impl OAuthError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Address { .. } => "oauth.address",
            Self::Unavailable { .. } => "oauth.unavailable",
            Self::Document { .. } => "oauth.document",
            Self::NoPkce => "oauth.pkce",
            Self::NoDpop => "oauth.dpop",
            Self::ClientKey { .. } => "oauth.client_key",
            Self::NoRegistration => "oauth.registration",
            Self::Redirect { .. } => "oauth.redirect",
            Self::Refused { .. } => "oauth.refused",
            Self::LoginRequired => "oauth.login",
            Self::InsufficientScope => "oauth.scope",
            Self::Store(_) => "oauth.store",
            Self::Unfinished(_) => "oauth.unfinished",
        }
    }
}

/// The error codes of RFC 6749 §4.1.2.1 and §5.2, RFC 8628 §3.5, RFC 8707 §2 and RFC 9449 §5: a code that is none
/// of these is not repeated.
const CODES: [&str; 19] = [
    "access_denied",
    "authorization_pending",
    "expired_token",
    "invalid_client",
    "invalid_client_metadata",
    "invalid_dpop_proof",
    "invalid_grant",
    "invalid_redirect_uri",
    "invalid_request",
    "invalid_scope",
    "invalid_target",
    "server_error",
    "slow_down",
    "temporarily_unavailable",
    "unauthorized_client",
    "unsupported_grant_type",
    "unsupported_response_type",
    "unsupported_token_type",
    "use_dpop_nonce",
];

/// The refusal that an authorization server words so.
pub(super) fn refused(code: Option<&str>) -> OAuthError {
    let known = code.and_then(|code| CODES.into_iter().find(|known| *known == code));
    OAuthError::Refused { code: known.unwrap_or("an error that is not known") }
}
