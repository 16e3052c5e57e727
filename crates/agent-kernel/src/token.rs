//! Tokens: one token is one invocation of exactly one thing.
//!
//! A token consists of a head (the claims), caveats that holders added, and the MAC of the last of
//! them. Its text form is unpadded base64url. The MAC of the head is HMAC-SHA256 under a key of the
//! ring, over the tag `weaver/token/v1`, a zero byte and the head *as received*. Each caveat is
//! covered by an HMAC whose key is the MAC before it, so any holder can add one offline, and nobody
//! can remove one. Before the last MAC is verified, nothing is parsed but the lengths and the id of
//! the key.

mod base64url;
mod caveat;
mod key_ring;
mod ring_file;
mod wire_format;

use std::fmt;

use weaver_types::{CallId, TokenId};

pub use caveat::{Caveat, MAX_CAVEATS, NarrowedToken};
pub(crate) use key_ring::TokenMac;
pub use key_ring::{KeyRing, MAX_KEYS};

use crate::error::AttenuationError;

/// The longest token that is accepted, in characters of its text.
pub const MAX_TOKEN_CHARS: usize = 16 * 1024;
/// The longest token in bytes; base64 encodes three bytes in four characters.
const MAX_TOKEN_BYTES: usize = MAX_TOKEN_CHARS / 4 * 3;

/// A signed token. Its `Debug` shows nothing of it.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl Token {
    /// Decodes a received token; it proves nothing until it is verified. A text that is not
    /// unpadded base64url, or is longer than [`MAX_TOKEN_CHARS`], becomes a token that no kernel
    /// accepts, so that its use is refused and recorded like that of any other.
    #[must_use]
    pub fn from_text(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        let decoded = (text.len() <= MAX_TOKEN_CHARS).then(|| base64url::decode(text));
        Self(decoded.flatten().unwrap_or_default())
    }

    /// Its text form: unpadded base64url.
    #[must_use]
    pub fn to_text(&self) -> String {
        base64url::encode(&self.0)
    }

    /// A child of this token with one more caveat. This needs no key: any holder can make a weaker
    /// token, and nobody a stronger one. Of a token and all its children only one can be used,
    /// once; revoking the token revokes them all.
    ///
    /// ```
    /// # use weaver_agent_kernel::{Caveat, Token, AttenuationError};
    /// # use serde_json::json;
    /// # fn hand_on(token: &Token) -> Result<(), AttenuationError> {
    /// let only_this = Caveat::arguments(&json!({ "path": "notes.txt" }))?;
    /// let child = token.attenuate(&only_this)?;
    /// # Ok(()) }
    /// # assert!(hand_on(&Token::from_text("AAAA")).is_err());
    /// ```
    ///
    /// # Errors
    /// [`AttenuationError`], when this is no token, has [`MAX_CAVEATS`] caveats, or would be longer than
    /// [`MAX_TOKEN_CHARS`]. Whether the token is genuine is only found out when it is used.
    pub fn attenuate(&self, caveat: &Caveat) -> Result<Self, AttenuationError> {
        wire_format::add_caveat(&self.0, caveat).map(Self)
    }

    fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its MAC.
    pub(crate) fn mac(&self) -> Option<&TokenMac> {
        self.0.last_chunk()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The id of the token of a call: each call has one token, named after it.
pub(crate) fn token_id_of(call: &CallId) -> Option<TokenId> {
    let name = call.as_str();
    TokenId::parse(["tok_", name.strip_prefix("call_").unwrap_or(name)].concat()).ok()
}

#[cfg(test)]
mod tests;
