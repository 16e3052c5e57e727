//! The reasons why an access token is not accepted.

use weaver_drivers::oauth::OAuthError;

/// Why an access token is not accepted. No message contains any part of the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    /// The token cannot be parsed.
    #[error("the token cannot be read: {0}")]
    Malformed(&'static str),
    /// The token is well-formed but not valid here and now.
    #[error("the token is not valid here: {0}")]
    Invalid(&'static str),
    /// Its validity cannot be determined at the moment.
    #[error("tokens cannot be checked now: {0}")]
    Unavailable(OAuthError),
}

impl TokenError {
    /// True if the cause is on the gateway's or the issuer's side, so that the client can do
    /// nothing about it.
    pub(crate) fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}
