//! Keys that sign notes: public keys as text, private keys behind a trait.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use weaver_types::LogId;
use weaver_types::digest::DomainTag;
use weaver_types::signature::{PublicKey, SIGNATURE_BYTES, SignatureError, SigningKey};

use super::CheckpointError;
use super::note::{NoteSignature, is_key_name};

/// What a key signs. The use is part of the key's id, so that a key never counts for the other use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyUse {
    /// A log signs its checkpoints: signature type 1, Ed25519 over the text.
    Log,
    /// A witness cosigns checkpoints with a timestamp: signature type 4.
    Witness,
}

impl KeyUse {
    fn byte(self) -> u8 {
        match self {
            Self::Log => 1,
            Self::Witness => 4,
        }
    }
}

/// A public key with its name and use. Its text is `name+id+base64`, as C2SP defines it: the id in
/// eight lower-case hexadecimal digits, the base64 over the type byte and the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    usage: KeyUse,
    public: PublicKey,
}

impl VerifierKey {
    /// Creates a key with a name.
    ///
    /// # Errors
    /// [`CheckpointError::Key`], when the name is empty or too long, or contains white space or a
    /// plus sign.
    pub fn new(
        name: impl Into<String>,
        usage: KeyUse,
        public: PublicKey,
    ) -> Result<Self, CheckpointError> {
        let name = name.into();
        if !is_key_name(&name) || name.len() > 128 {
            return Err(CheckpointError::Key(
                "a name has 1 to 128 bytes without blanks and plus signs",
            ));
        }
        Ok(Self { name, usage, public })
    }

    /// The key that signs the checkpoints of `log`; its name is the log's id.
    ///
    /// # Errors
    /// [`CheckpointError::Key`], when the log's id contains a plus sign.
    pub fn log(log: &LogId, public: PublicKey) -> Result<Self, CheckpointError> {
        Self::new(log.as_str(), KeyUse::Log, public)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it signs.
    #[must_use]
    pub fn usage(&self) -> KeyUse {
        self.usage
    }

    /// The key itself.
    #[must_use]
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The key id: the first four bytes of SHA-256 over the name, a line feed, the type byte and
    /// the key. It identifies a key and proves nothing.
    #[must_use]
    pub fn id(&self) -> [u8; 4] {
        let mut hash = Sha256::new();
        hash.update(self.name.as_bytes());
        hash.update([b'\n', self.usage.byte()]);
        hash.update(self.public.to_bytes());
        let [a, b, c, d, ..] = <[u8; 32]>::from(hash.finalize());
        [a, b, c, d]
    }

    /// Whether the signature claims to be by this key.
    #[must_use]
    pub fn made(&self, signature: &NoteSignature) -> bool {
        signature.name == self.name && signature.key == self.id()
    }

    pub(super) fn signature(&self, bytes: Vec<u8>) -> NoteSignature {
        NoteSignature { name: self.name.clone(), key: self.id(), bytes }
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = u32::from_be_bytes(self.id());
        let mut bytes = vec![self.usage.byte()];
        bytes.extend(self.public.to_bytes());
        write!(f, "{}+{id:08x}+{}", self.name, STANDARD.encode(bytes))
    }
}

impl FromStr for VerifierKey {
    type Err = CheckpointError;

    fn from_str(text: &str) -> Result<Self, CheckpointError> {
        let bad = CheckpointError::Key;
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(bad("it has not three parts"));
        };
        let bytes = STANDARD.decode(key).map_err(|_| bad("its key is not canonical base64"))?;
        let usage = match bytes.split_first() {
            Some((1, _)) => KeyUse::Log,
            Some((4, _)) => KeyUse::Witness,
            _ => return Err(bad("its type is neither 1 (Ed25519) nor 4 (cosignature)")),
        };
        let public = bytes.get(1..).and_then(|rest| <[u8; 32]>::try_from(rest).ok());
        let public = public.ok_or(bad("its key has not 32 bytes"))?;
        let public =
            PublicKey::from_bytes(public).map_err(|_| bad("its key is not a good point"))?;
        let key = Self::new(name, usage, public)?;
        if format!("{:08x}", u32::from_be_bytes(key.id())) != id {
            return Err(bad("its id is not that of name and key"));
        }
        Ok(key)
    }
}

/// Signs with a private key: the key itself, or a host that keeps it elsewhere.
pub trait Signer {
    /// The public key.
    fn public(&self) -> PublicKey;

    /// Signs a text without a domain tag, Ed25519.
    ///
    /// # Errors
    /// [`SignatureError`], when the key cannot be used, or the text must not be signed without a
    /// tag.
    fn sign_text(&self, text: &str) -> Result<[u8; SIGNATURE_BYTES], SignatureError>;

    /// Signs the tag, a zero byte and the message.
    ///
    /// # Errors
    /// [`SignatureError`], when the key cannot be used.
    fn sign_tagged(
        &self,
        tag: DomainTag,
        message: &[u8],
    ) -> Result<[u8; SIGNATURE_BYTES], SignatureError>;
}

impl Signer for SigningKey {
    fn public(&self) -> PublicKey {
        Self::public(self)
    }

    fn sign_text(&self, text: &str) -> Result<[u8; SIGNATURE_BYTES], SignatureError> {
        Self::sign_text(self, text)
    }

    fn sign_tagged(
        &self,
        tag: DomainTag,
        message: &[u8],
    ) -> Result<[u8; SIGNATURE_BYTES], SignatureError> {
        Ok(Self::sign(self, tag, message))
    }
}
