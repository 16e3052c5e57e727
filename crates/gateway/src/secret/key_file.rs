//! The file of one private key.

use std::io;
use std::path::Path;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, Profile};
use weaver_types::signature::{PublicKey, SigningKey};
use weaver_types::{KeyId, Random};
use zeroize::Zeroizing;

use super::{Passphrase, SecretError};
use crate::bounded_file;
use crate::clients::write_new_file;

/// The newest version of the file that this build reads, and the one it writes.
pub const VERSION: u64 = 1;
/// Memory that deriving a key takes, in KiB.
pub const KDF_MEMORY_KIB: u32 = 64 * 1024;
/// Passes over that memory.
pub const KDF_ITERATIONS: u32 = 3;
/// Lanes of that memory.
pub const KDF_LANES: u32 = 1;

const KIND: &str = "weaver-key";
const CIPHER: &str = "xchacha20poly1305";
const ALGORITHM: &str = "argon2id";
const SEED: usize = 32;
const SALT: usize = 16;
const NONCE: usize = 24;
/// The largest key file, in bytes.
const MAX_FILE: usize = 16 * 1024;
/// What a file may ask for, so that a planted one neither stalls the machine nor is trivial.
const MEMORY_KIB: std::ops::RangeInclusive<u32> = 8 * 1024..=1024 * 1024;
const ITERATIONS: std::ops::RangeInclusive<u32> = 1..=16;
const LANES: std::ops::RangeInclusive<u32> = 1..=4;

/// An encrypted private key with what may be known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFile {
    head: Head,
    nonce: String,
    ciphertext: String,
}

/// Everything that is not encrypted; its canonical bytes are authenticated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    v: u64,
    kind: String,
    id: KeyId,
    public: PublicKey,
    kdf: Kdf,
    cipher: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kdf {
    algorithm: String,
    memory_kib: u32,
    iterations: u32,
    lanes: u32,
    salt: String,
}

/// What the file looks like on disk.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    v: u64,
    kind: String,
    id: KeyId,
    public: PublicKey,
    kdf: Kdf,
    cipher: String,
    nonce: String,
    ciphertext: String,
}

impl KeyFile {
    /// Makes a new key and encrypts it.
    ///
    /// # Errors
    /// [`SecretError::Random`], and [`SecretError::Derivation`] when memory is short.
    pub fn generate(
        id: KeyId,
        passphrase: &Passphrase,
        random: &dyn Random,
    ) -> Result<(Self, SigningKey), SecretError> {
        let mut seed = Zeroizing::new([0_u8; SEED]);
        random.fill(seed.as_mut_slice())?;
        let key = SigningKey::from_seed(*seed);
        let mut salt = [0_u8; SALT];
        random.fill(&mut salt)?;
        let mut nonce = [0_u8; NONCE];
        random.fill(&mut nonce)?;
        let kdf = Kdf {
            algorithm: ALGORITHM.to_owned(),
            memory_kib: KDF_MEMORY_KIB,
            iterations: KDF_ITERATIONS,
            lanes: KDF_LANES,
            salt: STANDARD.encode(salt),
        };
        let head = Head {
            v: VERSION,
            kind: KIND.to_owned(),
            id,
            public: key.public(),
            kdf,
            cipher: CIPHER.to_owned(),
        };
        let aad = head.authenticated()?;
        let ciphertext = head
            .cipher(passphrase)?
            .encrypt(&XNonce::from(nonce), Payload { msg: seed.as_slice(), aad: &aad })
            .map_err(|_| SecretError::Derivation("encryption failed".to_owned()))?;
        let (nonce, ciphertext) = (STANDARD.encode(nonce), STANDARD.encode(ciphertext));
        Ok((Self { head, nonce, ciphertext }, key))
    }

    /// Reads the text of a key file. Nothing is decrypted yet.
    ///
    /// # Errors
    /// [`SecretError::Malformed`], and [`SecretError::Newer`] for a later version.
    pub fn parse(bytes: &[u8]) -> Result<Self, SecretError> {
        let value = canonical::parse(bytes, Profile::Record)
            .map_err(|error| malformed(&error.to_string()))?;
        if value.get("kind").and_then(serde_json::Value::as_str) != Some(KIND) {
            return Err(malformed("`kind` is not `weaver-key`"));
        }
        match value.get("v").and_then(serde_json::Value::as_u64) {
            Some(VERSION) => {}
            Some(found) if found > VERSION => {
                return Err(SecretError::Newer { found, known: VERSION });
            }
            _ => return Err(malformed("`v` is no version")),
        }
        let wire: Wire =
            serde_json::from_value(value).map_err(|error| malformed(&error.to_string()))?;
        let Wire { v, kind, id, public, kdf, cipher, nonce, ciphertext } = wire;
        if cipher != CIPHER || kdf.algorithm != ALGORITHM {
            return Err(malformed("another cipher or key derivation than this build knows"));
        }
        let within = MEMORY_KIB.contains(&kdf.memory_kib)
            && ITERATIONS.contains(&kdf.iterations)
            && LANES.contains(&kdf.lanes);
        if !within {
            return Err(malformed("the costs of the key derivation are out of bounds"));
        }
        let head = Head { v, kind, id, public, kdf, cipher };
        Ok(Self { head, nonce, ciphertext })
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// [`SecretError::Unreadable`], and as [`KeyFile::parse`].
    pub fn read(path: &Path) -> Result<Self, SecretError> {
        let bytes = bounded_file::bytes(path, MAX_FILE).map_err(|error| {
            SecretError::Unreadable { file: path.display().to_string(), reason: error.to_string() }
        })?;
        Self::parse(&bytes)
    }

    /// The private key.
    ///
    /// # Errors
    /// [`SecretError::WrongPassphrase`] also for a file that was changed, [`SecretError::OtherKey`],
    /// [`SecretError::Malformed`].
    pub fn open(&self, passphrase: &Passphrase) -> Result<SigningKey, SecretError> {
        let nonce: [u8; NONCE] = decode(&self.nonce, "nonce")?;
        let ciphertext = STANDARD
            .decode(&self.ciphertext)
            .map_err(|_| malformed("`ciphertext` is not base64"))?;
        let aad = self.head.authenticated()?;
        let payload = Payload { msg: &ciphertext, aad: &aad };
        let opened = self
            .head
            .cipher(passphrase)?
            .decrypt(&XNonce::from(nonce), payload)
            .map_err(|_| SecretError::WrongPassphrase)?;
        let opened = Zeroizing::new(opened);
        let seed: &[u8; SEED] =
            opened.as_slice().try_into().map_err(|_| malformed("the key has another length"))?;
        let key = SigningKey::from_seed(*seed);
        if key.public() == self.head.public { Ok(key) } else { Err(SecretError::OtherKey) }
    }

    /// What the key is called.
    #[must_use]
    pub fn id(&self) -> &KeyId {
        &self.head.id
    }

    /// The public key.
    #[must_use]
    pub fn public(&self) -> &PublicKey {
        &self.head.public
    }

    /// The file as one line of JSON with a line feed.
    ///
    /// # Errors
    /// [`SecretError::Canonical`]; a file that was parsed or generated can be written.
    pub fn to_json(&self) -> Result<String, SecretError> {
        let Head { v, kind, id, public, kdf, cipher } = self.head.clone();
        let (nonce, ciphertext) = (self.nonce.clone(), self.ciphertext.clone());
        let wire = Wire { v, kind, id, public, kdf, cipher, nonce, ciphertext };
        let bytes = canonical::of(&wire, Profile::Record)?;
        Ok(format!("{}\n", String::from_utf8_lossy(&bytes)))
    }

    /// Writes the file for this user alone, synced to disk. It never overwrites.
    ///
    /// # Errors
    /// [`SecretError::Exists`], [`SecretError::Unwritable`]; nothing is left behind then.
    pub fn write_new(&self, path: &Path) -> Result<(), SecretError> {
        let text = self.to_json()?;
        let failed = |source: io::Error| {
            let file = path.display().to_string();
            match source.kind() {
                io::ErrorKind::AlreadyExists => SecretError::Exists { file },
                _ => SecretError::Unwritable { file, source },
            }
        };
        write_new_file(path, &text).map_err(failed)
    }
}

impl Head {
    fn authenticated(&self) -> Result<Vec<u8>, SecretError> {
        Ok(canonical::of(self, Profile::Record)?)
    }

    /// The cipher under the key that the passphrase gives.
    fn cipher(&self, passphrase: &Passphrase) -> Result<XChaCha20Poly1305, SecretError> {
        let derivation = |error: argon2::Error| SecretError::Derivation(error.to_string());
        let Kdf { memory_kib, iterations, lanes, salt, .. } = &self.kdf;
        let params = Params::new(*memory_kib, *iterations, *lanes, Some(SEED));
        let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.map_err(derivation)?);
        let salt: [u8; SALT] = decode(salt, "salt")?;
        let mut key = Zeroizing::new([0_u8; SEED]);
        argon
            .hash_password_into(passphrase.as_bytes(), &salt, key.as_mut_slice())
            .map_err(derivation)?;
        XChaCha20Poly1305::new_from_slice(key.as_slice())
            .map_err(|_| SecretError::Derivation("the key has another length".to_owned()))
    }
}

fn malformed(reason: &str) -> SecretError {
    let shown = weaver_text::escape::line(weaver_text::escape::truncate(reason, 160)).into_owned();
    SecretError::Malformed { reason: shown }
}

fn decode<const N: usize>(text: &str, what: &str) -> Result<[u8; N], SecretError> {
    let wrong = || malformed(&format!("`{what}` is not base64 of {N} bytes"));
    STANDARD.decode(text).map_err(|_| wrong())?.try_into().map_err(|_| wrong())
}

#[cfg(test)]
mod tests;
