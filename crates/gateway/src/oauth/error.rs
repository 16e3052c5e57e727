//! Why an access token does not count.

use weaver_drivers::oauth::OAuthError;

/// Why an access token does not count. No message has any of the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    /// It is no token that could be read.
    #[error("the token cannot be read: {0}")]
    Malformed(&'static str),
    /// It is genuine for somebody, but not here and now.
    #[error("the token does not count here: {0}")]
    Invalid(&'static str),
    /// Whether it counts cannot be told now.
    #[error("tokens cannot be checked now: {0}")]
    Unavailable(OAuthError),
}

impl TokenError {
    /// True where the client can do nothing about it.
    pub(crate) fn is_ours(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}
