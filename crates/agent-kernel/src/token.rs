//! Tokens: one token is one invocation of exactly one thing.
//!
//! A token is bytes: a head (the claims), caveats that holders added, and the MAC of the last of
//! them. Its text is their base64url, without padding. The MAC of the head is HMAC-SHA256 under a
//! key of the ring, over the tag `weaver/token/v1`, a zero byte and the head *as received*. Each
//! caveat is covered by an HMAC whose key is the MAC before it, so whoever holds a token can add
//! one, offline, and nobody can take one away. Before the last MAC holds, nothing is read but the
//! lengths and the name of the key.

mod base64url;
mod caveat;
mod form;
mod key_ring;
mod ring_file;

use std::fmt;

use weaver_types::{CallId, TokenId};

pub use caveat::{Caveat, MAX_CAVEATS, NarrowedToken};
pub(crate) use key_ring::TokenMac;
pub use key_ring::{KeyRing, MAX_KEYS};

use crate::error::TokenError;

/// The longest token that is looked at, in bytes of its text.
pub const MAX_TOKEN: usize = 16 * 1024;
/// The longest token in bytes, of which base64 makes four characters for three.
const MAX_BYTES: usize = MAX_TOKEN / 4 * 3;

/// A signed token. Its `Debug` shows nothing of it.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl Token {
    /// A token as it was received; it proves nothing until it is verified. A text that is not
    /// base64url without padding, or is longer than [`MAX_TOKEN`], becomes a token that no kernel
    /// accepts, so that its use is refused and recorded like that of any other.
    #[must_use]
    pub fn from_text(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        let decoded = (text.len() <= MAX_TOKEN).then(|| base64url::decode(text));
        Self(decoded.flatten().unwrap_or_default())
    }

    /// Its text: base64url without padding.
    #[must_use]
    pub fn to_text(&self) -> String {
        base64url::encode(&self.0)
    }

    /// A child of this token, which also asks for this. It needs no key: whoever holds a token can
    /// hand on less than it, and nobody can hand on more. Of a token and all its children one is
    /// used, once; revoking the token revokes them.
    ///
    /// ```
    /// # use weaver_agent_kernel::{Caveat, Token, TokenError};
    /// # use serde_json::json;
    /// # fn hand_on(token: &Token) -> Result<(), TokenError> {
    /// let only_this = Caveat::arguments(&json!({ "path": "notes.txt" }))?;
    /// let child = token.attenuate(&only_this)?;
    /// # Ok(()) }
    /// # assert!(hand_on(&Token::from_text("AAAA")).is_err());
    /// ```
    ///
    /// # Errors
    /// [`TokenError`], when this is no token, has [`MAX_CAVEATS`] caveats, or would be longer than
    /// [`MAX_TOKEN`]. Whether the token is genuine shows only when it is used.
    pub fn attenuate(&self, caveat: &Caveat) -> Result<Self, TokenError> {
        form::extend(&self.0, caveat).map(Self)
    }

    fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its MAC.
    pub(crate) fn seal(&self) -> Option<&TokenMac> {
        self.0.last_chunk()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The token of a call: each call has one, named after it.
pub(crate) fn token_of(call: &CallId) -> Option<TokenId> {
    let name = call.as_str();
    TokenId::parse(["tok_", name.strip_prefix("call_").unwrap_or(name)].concat()).ok()
}

#[cfg(test)]
mod tests;
