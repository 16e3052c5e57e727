//! The reasons why an access token is not accepted.

use std::time::Duration;

use weaver_drivers::oauth::OAuthError;

/// Why an access token is not accepted. No message contains any part of the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    /// The token cannot be parsed.
    #[error("the token cannot be read: {0}")]
    Malformed(&'static str),
    /// The time until which it is valid is past.
    #[error("the token is not valid here: it has ended")]
    Expired,
    /// It was issued for another resource server.
    #[error("the token is not valid here: it is for another server")]
    OtherAudience,
    /// No known key of its issuer made its signature.
    #[error("the token is not valid here: no key of its issuer made its signature")]
    Signature,
    /// The policy does not name its issuer, or it names none.
    #[error("the token is not valid here: the policy does not trust its issuer")]
    UntrustedIssuer,
    /// The token is well-formed but not valid here and now for another reason.
    #[error("the token is not valid here: {0}")]
    Invalid(&'static str),
    /// Its validity cannot be determined at the moment.
    #[error("tokens cannot be checked now: {0}")]
    Unavailable(OAuthError),
    /// No known key made its signature, and the issuer's keys were fetched so recently that they are
    /// not fetched again yet: the issuer may have added the key since.
    #[error("tokens cannot be checked now: the keys of the issuer are fetched again in {} s", whole_seconds(*retry_after))]
    KeysTooRecent {
        /// When the keys may be fetched again.
        retry_after: Duration,
    },
}

/// How long a client waits when nothing says how long the cause lasts.
const DEFAULT_RETRY: Duration = Duration::from_secs(5);

/// Rounded up, so that nobody comes back too early.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)).max(1)
}

impl TokenError {
    /// True if the cause is on the gateway's or the issuer's side, so that the client can do
    /// nothing about it.
    pub(crate) fn is_unavailable(&self) -> bool {
        self.retry_seconds().is_some()
    }

    /// When a client may try again, if the token may be valid then.
    pub(crate) fn retry_seconds(&self) -> Option<u64> {
        match self {
            Self::Malformed(_)
            | Self::Expired
            | Self::OtherAudience
            | Self::Signature
            | Self::UntrustedIssuer
            | Self::Invalid(_) => None,
            Self::Unavailable(_) => Some(whole_seconds(DEFAULT_RETRY)),
            Self::KeysTooRecent { retry_after } => Some(whole_seconds(*retry_after)),
        }
    }
}
