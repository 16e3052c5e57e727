//! Tokens: one token is one invocation of exactly one thing.
//!
//! The text is `<base64url claims>.<base64url mac>`. The MAC is HMAC-SHA256 over the tag
//! `weaver/token/v1`, a zero byte and the claims *as received*; nothing is parsed before it holds.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::Tag;
use weaver_types::{CallId, KeyId, Random, RandomError, ReasonCode, TokenClaims, TokenId};
use zeroize::Zeroizing;

/// The longest token that is looked at, in bytes.
pub const MAX_TOKEN: usize = 16 * 1024;
const SECRET_BYTES: usize = 32;

/// A signed token. Its `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token as it was received; it proves nothing until it is verified.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
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
    TokenId::parse(format!("tok_{}", name.strip_prefix("call_").unwrap_or(name))).ok()
}

/// The keys under which tokens are made: one current, older ones to verify only.
pub struct KeyRing {
    current: KeyId,
    keys: BTreeMap<KeyId, Hmac<Sha256>>,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("current", &self.current).finish_non_exhaustive()
    }
}

impl KeyRing {
    /// A ring with one fresh random key, which lives as long as the process.
    ///
    /// # Errors
    /// [`RandomError`], when the source of randomness fails.
    pub fn fresh(random: &dyn Random) -> Result<Self, RandomError> {
        let mut secret = Zeroizing::new([0_u8; SECRET_BYTES]);
        random.fill(secret.as_mut())?;
        let id =
            KeyId::parse(weaver_types::random_text("key_", 8, random)?).map_err(|_| RandomError)?;
        Self::new(id, secret.as_slice()).ok_or(RandomError)
    }

    /// A ring with one key of at least 32 bytes; `None` when it is shorter.
    #[must_use]
    pub fn new(id: KeyId, secret: &[u8]) -> Option<Self> {
        let mut ring = Self { current: id.clone(), keys: BTreeMap::new() };
        ring.rotate(id, secret).then_some(ring)
    }

    /// Adds a key of at least 32 bytes and makes it the current one; false when it is shorter.
    pub fn rotate(&mut self, id: KeyId, secret: &[u8]) -> bool {
        if secret.len() < SECRET_BYTES {
            return false;
        }
        let Ok(mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(secret) else { return false };
        self.keys.insert(id.clone(), mac);
        self.current = id;
        true
    }

    /// Forgets an old key: its tokens are invalid from now on. The current one stays.
    pub fn retire(&mut self, id: &KeyId) {
        if *id != self.current {
            self.keys.remove(id);
        }
    }

    /// The id of the current key.
    #[must_use]
    pub fn current(&self) -> &KeyId {
        &self.current
    }

    /// Signs claims with the key that they name; `None` when the ring does not hold it.
    pub(crate) fn sign(&self, claims: &TokenClaims) -> Option<Token> {
        let bytes = canonical::of(claims, Profile::Record).ok()?;
        let mac = self.mac(&claims.key_id, &bytes)?.finalize().into_bytes();
        Some(Token(format!("{}.{}", URL_SAFE_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(mac))))
    }

    /// Reads claims from a token that one of the keys signed.
    pub(crate) fn verify(&self, token: &Token) -> Result<TokenClaims, ReasonCode> {
        const BAD: ReasonCode = ReasonCode::TokenInvalid;
        if token.0.len() > MAX_TOKEN {
            return Err(BAD);
        }
        let (claims, mac) = token.0.split_once('.').ok_or(BAD)?;
        let bytes = URL_SAFE_NO_PAD.decode(claims).map_err(|_| BAD)?;
        let mac = URL_SAFE_NO_PAD.decode(mac).map_err(|_| BAD)?;
        // Which key it was is found by trying: the ring is small, and nothing is parsed before.
        let genuine = self
            .keys
            .iter()
            .find(|(id, _)| self.mac(id, &bytes).is_some_and(|m| m.verify_slice(&mac).is_ok()))
            .map(|(id, _)| id)
            .ok_or(BAD)?;
        let value = canonical::parse(&bytes, Profile::Record).map_err(|_| BAD)?;
        let claims: TokenClaims = serde_json::from_value(value).map_err(|_| BAD)?;
        if claims.v != 1 || claims.key_id != *genuine {
            return Err(BAD);
        }
        Ok(claims)
    }

    fn mac(&self, id: &KeyId, bytes: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = self.keys.get(id)?.clone();
        mac.update(&Tag::TOKEN.prefix());
        mac.update(bytes);
        Some(mac)
    }
}

#[cfg(test)]
mod tests;
