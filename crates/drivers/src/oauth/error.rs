//! Why no token could be obtained.

/// Why no token, or no document of an authorization server, could be obtained. Messages contain no
/// part of a token, code or secret, and no text of the authorization server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OAuthError {
    /// The address must not be requested.
    #[error("`{what}` is not an address that may be asked: {reason}")]
    Address {
        /// Which one.
        what: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// There was no response, or none with a document.
    #[error("{what} cannot be had: {reason}")]
    Unavailable {
        /// What was asked for.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// A document violates a rule.
    #[error("{what} cannot be used: {reason}")]
    Document {
        /// Which document.
        what: &'static str,
        /// The rule.
        reason: &'static str,
    },
    /// The authorization server does not support PKCE with S256.
    #[error("the authorization server does not offer PKCE with S256, which is required")]
    NoPkce,
    /// The authorization server accepts no proof that this client can make.
    #[error(
        "tokens of this server must be bound to a key, and its authorization server takes no DPoP \
         proof that is signed with ES256; ask its operator, or remove `dpop_bound_access_tokens` \
         under `oauth` of the server in weaver.toml where that is what demands it"
    )]
    NoDpop,
    /// The private key of this client is unusable.
    #[error(
        "the private key that `client_key` under `oauth` of the server names cannot be used: {reason}"
    )]
    ClientKey {
        /// Why not.
        reason: String,
    },
    /// This client cannot be registered there.
    #[error(
        "the authorization server registers no clients; get a client id there and write \
         `client_id` under `oauth` of the server in weaver.toml"
    )]
    NoRegistration,
    /// The server names another authorization server than the one that the credentials are for.
    #[error(
        "the server names another authorization server than the one that its login is configured for; \
         if that is right, write its address as `issuer` under `oauth` of the server in weaver.toml"
    )]
    OtherIssuer,
    /// The redirect from the authorization server is invalid.
    #[error("the answer of the authorization server is refused: {reason}")]
    Redirect {
        /// The rule that it violates.
        reason: &'static str,
    },
    /// The authorization server refused the request.
    #[error("the authorization server refused: {code}")]
    Refused {
        /// The error code, one of those that the specification lists.
        code: &'static str,
    },
    /// A person must log in, and there is no agent.
    #[error("nobody is logged in there, or the login has ended")]
    LoginRequired,
    /// The token lacks scopes, and there is no agent to ask for more.
    #[error("the login does not cover what was asked for")]
    InsufficientScope,
    /// Logins cannot be read or written.
    #[error("the logins cannot be read or written: {0}")]
    Store(String),
    /// The person did not answer in time, or cancelled.
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
            Self::OtherIssuer => "oauth.issuer",
            Self::Redirect { .. } => "oauth.redirect",
            Self::Refused { .. } => "oauth.refused",
            Self::LoginRequired => "oauth.login",
            Self::InsufficientScope => "oauth.scope",
            Self::Store(_) => "oauth.store",
            Self::Unfinished(_) => "oauth.unfinished",
        }
    }
}

/// The error codes of RFC 6749 §4.1.2.1 and §5.2, RFC 8628 §3.5, RFC 8707 §2 and RFC 9449 §5. Other
/// codes are not repeated in messages.
const KNOWN_ERROR_CODES: [&str; 19] = [
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

/// The error for a refusal with this code.
pub(super) fn refused_error(code: Option<&str>) -> OAuthError {
    let known = code.and_then(|code| KNOWN_ERROR_CODES.into_iter().find(|known| *known == code));
    OAuthError::Refused { code: known.unwrap_or("an error that is not known") }
}
