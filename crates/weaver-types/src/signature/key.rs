//! Ed25519 keys: public ones have a text form, private ones have none.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, VerifyingKey};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::SignatureError;
use crate::digest::DomainTag;

/// The length of a signature in bytes.
pub const SIGNATURE_BYTES: usize = 64;
const KEY_BYTES: usize = 32;
const KEY_PREFIX: &str = "ed25519:";

/// A public key: a curve point of large order. Its text is `ed25519:` and padded base64.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Parses the 32 bytes of RFC 8032.
    ///
    /// # Errors
    ///
    /// [`SignatureError::Key`] when they are not the canonical encoding of a curve point,
    /// [`SignatureError::WeakKey`] when the point has small order.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Result<Self, SignatureError> {
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| SignatureError::Key)?;
        if key.is_weak() {
            return Err(SignatureError::WeakKey);
        }
        // Decoding also accepts a non-canonical encoding of the coordinate; a key must have one
        // text.
        if key.to_edwards().compress().to_bytes() != bytes {
            return Err(SignatureError::Key);
        }
        Ok(Self(key))
    }

    /// The 32 bytes of RFC 8032.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; KEY_BYTES] {
        self.0.to_bytes()
    }

    /// Verifies a signature over the tag, a zero byte and `message`, by the strict rules of
    /// `ed25519-dalek`.
    ///
    /// # Errors
    ///
    /// [`SignatureError::Invalid`].
    pub fn verify(
        &self,
        tag: DomainTag,
        message: &[u8],
        signature: &[u8; SIGNATURE_BYTES],
    ) -> Result<(), SignatureError> {
        self.verify_raw(&tagged_message(tag, message), signature)
    }

    /// Verifies a signature over a text without a tag, as [`SigningKey::sign_text`] makes it, by
    /// the strict rules.
    ///
    /// # Errors
    ///
    /// [`SignatureError::Text`] for a text that is never signed, [`SignatureError::Invalid`].
    pub fn verify_text(
        &self,
        text: &str,
        signature: &[u8; SIGNATURE_BYTES],
    ) -> Result<(), SignatureError> {
        check_text(text)?;
        self.verify_raw(text.as_bytes(), signature)
    }

    pub(super) fn verify_raw(
        &self,
        message: &[u8],
        signature: &[u8; SIGNATURE_BYTES],
    ) -> Result<(), SignatureError> {
        let signature = Signature::from_bytes(signature);
        self.0.verify_strict(message, &signature).map_err(|_| SignatureError::Invalid)
    }
}

impl FromStr for PublicKey {
    type Err = SignatureError;

    fn from_str(text: &str) -> Result<Self, SignatureError> {
        let text = text.strip_prefix(KEY_PREFIX).ok_or(SignatureError::Key)?;
        Self::from_bytes(decode_base64(text, "public key")?)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KEY_PREFIX}{}", encode_base64(&self.to_bytes()))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// A private key. It is erased on drop, its `Debug` shows nothing, and it does not serialise.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// The key derived from a 32-byte seed (the private key of RFC 8032).
    ///
    /// # Security
    ///
    /// The seed must come from a cryptographic source of randomness. This erases its own copy of
    /// the seed; erasing the caller's copies is left to the caller.
    #[must_use]
    pub fn from_seed(mut seed: [u8; KEY_BYTES]) -> Self {
        let key = ed25519_dalek::SigningKey::from_bytes(&seed);
        zeroize::Zeroize::zeroize(&mut seed);
        Self(key)
    }

    /// The public key.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs the tag, a zero byte and `message`.
    #[must_use]
    pub fn sign(&self, tag: DomainTag, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.sign_raw(&tagged_message(tag, message))
    }

    /// Signs a text without a tag, for formats of others such as signed notes.
    ///
    /// A tagged message always contains a zero byte and such a text never does, so neither
    /// signature passes for the other.
    ///
    /// # Errors
    ///
    /// [`SignatureError::Text`], when the text holds a control character other than a line feed.
    pub fn sign_text(&self, text: &str) -> Result<[u8; SIGNATURE_BYTES], SignatureError> {
        check_text(text)?;
        Ok(self.sign_raw(text.as_bytes()))
    }

    pub(super) fn sign_raw(&self, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(redacted)")
    }
}

fn check_text(text: &str) -> Result<(), SignatureError> {
    let control = |byte: u8| byte < b' ' && byte != b'\n';
    if text.bytes().any(control) { Err(SignatureError::Text) } else { Ok(()) }
}

fn tagged_message(tag: DomainTag, message: &[u8]) -> Vec<u8> {
    let mut out = tag.prefix();
    out.extend_from_slice(message);
    out
}

pub(super) fn encode_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(super) fn decode_base64<const N: usize>(
    text: &str,
    what: &'static str,
) -> Result<[u8; N], SignatureError> {
    let bytes = STANDARD.decode(text).map_err(|_| SignatureError::Encoding { what, bytes: N })?;
    <[u8; N]>::try_from(bytes).map_err(|_| SignatureError::Encoding { what, bytes: N })
}

#[cfg(test)]
mod tests;
