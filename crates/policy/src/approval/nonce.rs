//! A random value that makes otherwise equal requests differ.

use std::fmt;

use serde::{Deserialize, Serialize};
use weaver_types::{Random, RandomError, random_text};

const NONCE_BYTES: usize = 16;

/// The text is not a nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a nonce: write 32 lower-case hexadecimal digits")]
pub struct NonceError;

impl NonceError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "approval.nonce"
    }
}

/// Sixteen random bytes, written as 32 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Nonce(String);

impl Nonce {
    /// Parses a nonce.
    ///
    /// # Errors
    /// [`NonceError`] for anything but 32 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, NonceError> {
        let is_lower_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 2 * NONCE_BYTES && text.bytes().all(is_lower_hex) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NonceError)
        }
    }

    /// Generates a new nonce.
    ///
    /// # Errors
    /// [`RandomError`], when the source of randomness fails.
    pub fn random(random: &dyn Random) -> Result<Self, RandomError> {
        Ok(Self(random_text("", NONCE_BYTES, random)?))
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Nonce {
    type Error = NonceError;
    fn try_from(text: String) -> Result<Self, NonceError> {
        Self::parse(&text)
    }
}

impl From<Nonce> for String {
    fn from(nonce: Nonce) -> Self {
        nonce.0
    }
}
