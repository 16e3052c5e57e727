//! The file format of one encrypted private key.

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
use crate::clients::{replace_file, write_new_file};

/// The version of the format that this build writes, and the newest that it reads.
pub const VERSION: u64 = 1;
/// The costs of Argon2id, by which a passphrase becomes the key of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KdfCosts {
    /// Memory in KiB.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub iterations: u32,
    /// Parallelism.
    pub lanes: u32,
}

impl KdfCosts {
    /// The lowest that is read: for keys that guard nothing, as those of tests.
    pub const LOWEST: Self = Self { memory_kib: 8 * 1024, iterations: 1, lanes: 1 };
}

impl Default for KdfCosts {
    /// Those of every key that Weaver itself makes.
    fn default() -> Self {
        Self { memory_kib: 64 * 1024, iterations: 3, lanes: 1 }
    }
}

const KIND: &str = "weaver-key";
const CIPHER: &str = "xchacha20poly1305";
const ALGORITHM: &str = "argon2id";
const SEED_BYTES: usize = 32;
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 24;
/// The largest key file, in bytes.
const MAX_FILE_BYTES: usize = 16 * 1024;
/// The bounds of the costs that a file may demand: a planted file must neither stall the machine
/// nor make guessing cheap.
const ALLOWED_MEMORY_KIB: std::ops::RangeInclusive<u32> = KdfCosts::LOWEST.memory_kib..=1024 * 1024;
const ALLOWED_ITERATIONS: std::ops::RangeInclusive<u32> = KdfCosts::LOWEST.iterations..=16;
const ALLOWED_LANES: std::ops::RangeInclusive<u32> = KdfCosts::LOWEST.lanes..=4;

/// An encrypted private key with its public metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFile {
    header: KeyFileHeader,
    nonce: String,
    ciphertext: String,
}

/// Every field that is not encrypted. The canonical bytes are the associated data of the cipher, so
/// that a changed field makes decryption fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KeyFileHeader {
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

/// The file as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFileJson {
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
    /// Generates a new key and encrypts it, with the default costs.
    ///
    /// # Errors
    /// [`SecretError::Random`], and [`SecretError::Derivation`] if there is not enough memory.
    pub fn generate(
        id: KeyId,
        passphrase: &Passphrase,
        random: &dyn Random,
    ) -> Result<(Self, SigningKey), SecretError> {
        Self::generate_at(KdfCosts::default(), id, passphrase, random)
    }

    /// The same with other costs.
    ///
    /// # Errors
    /// As [`KeyFile::generate`], also for costs that Argon2 does not know. A file with costs outside
    /// the bounds of [`KeyFile::parse`] cannot be read again.
    pub fn generate_at(
        costs: KdfCosts,
        id: KeyId,
        passphrase: &Passphrase,
        random: &dyn Random,
    ) -> Result<(Self, SigningKey), SecretError> {
        let mut seed = Zeroizing::new([0_u8; SEED_BYTES]);
        random.fill(seed.as_mut_slice())?;
        let file = Self::encrypt(costs, id, &seed, passphrase, random)?;
        Ok((file, SigningKey::from_seed(*seed)))
    }

    /// The same key under another passphrase, with a new salt and the default costs.
    ///
    /// # Errors
    /// As [`KeyFile::open`] and [`KeyFile::generate`].
    pub fn with_passphrase(
        &self,
        current: &Passphrase,
        new: &Passphrase,
        random: &dyn Random,
    ) -> Result<Self, SecretError> {
        let seed = self.seed(current)?;
        Self::encrypt(KdfCosts::default(), self.id().clone(), &seed, new, random)
    }

    fn encrypt(
        costs: KdfCosts,
        id: KeyId,
        seed: &[u8; SEED_BYTES],
        passphrase: &Passphrase,
        random: &dyn Random,
    ) -> Result<Self, SecretError> {
        let mut salt = [0_u8; SALT_BYTES];
        random.fill(&mut salt)?;
        let mut nonce = [0_u8; NONCE_BYTES];
        random.fill(&mut nonce)?;
        let kdf = Kdf {
            algorithm: ALGORITHM.to_owned(),
            memory_kib: costs.memory_kib,
            iterations: costs.iterations,
            lanes: costs.lanes,
            salt: STANDARD.encode(salt),
        };
        let header = KeyFileHeader {
            v: VERSION,
            kind: KIND.to_owned(),
            id,
            public: SigningKey::from_seed(*seed).public(),
            kdf,
            cipher: CIPHER.to_owned(),
        };
        let aad = header.associated_data()?;
        let ciphertext = header
            .cipher(passphrase)?
            .encrypt(&XNonce::from(nonce), Payload { msg: seed, aad: &aad })
            .map_err(|_| SecretError::Derivation("encryption failed".to_owned()))?;
        let (nonce, ciphertext) = (STANDARD.encode(nonce), STANDARD.encode(ciphertext));
        Ok(Self { header, nonce, ciphertext })
    }

    /// Parses a key file without decrypting it.
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
            _ => return Err(malformed("`v` is not a version")),
        }
        let json: KeyFileJson =
            serde_json::from_value(value).map_err(|error| malformed(&error.to_string()))?;
        let KeyFileJson { v, kind, id, public, kdf, cipher, nonce, ciphertext } = json;
        if cipher != CIPHER || kdf.algorithm != ALGORITHM {
            return Err(malformed("another cipher or key derivation than this build knows"));
        }
        let costs_allowed = ALLOWED_MEMORY_KIB.contains(&kdf.memory_kib)
            && ALLOWED_ITERATIONS.contains(&kdf.iterations)
            && ALLOWED_LANES.contains(&kdf.lanes);
        if !costs_allowed {
            return Err(malformed("the costs of the key derivation are out of bounds"));
        }
        let header = KeyFileHeader { v, kind, id, public, kdf, cipher };
        Ok(Self { header, nonce, ciphertext })
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// [`SecretError::Unreadable`], and as [`KeyFile::parse`].
    pub fn read(path: &Path) -> Result<Self, SecretError> {
        let bytes = bounded_file::read_bytes(path, MAX_FILE_BYTES).map_err(|error| {
            SecretError::Unreadable { file: path.display().to_string(), reason: error.to_string() }
        })?;
        Self::parse(&bytes)
    }

    /// Decrypts the private key.
    ///
    /// # Errors
    /// [`SecretError::WrongPassphrase`], also for a file that was changed;
    /// [`SecretError::OtherKey`]; [`SecretError::Malformed`].
    pub fn open(&self, passphrase: &Passphrase) -> Result<SigningKey, SecretError> {
        Ok(SigningKey::from_seed(*self.seed(passphrase)?))
    }

    /// Decrypts the seed, and checks that it is that of the public key.
    fn seed(&self, passphrase: &Passphrase) -> Result<Zeroizing<[u8; SEED_BYTES]>, SecretError> {
        let nonce: [u8; NONCE_BYTES] = decode(&self.nonce, "nonce")?;
        let ciphertext = STANDARD
            .decode(&self.ciphertext)
            .map_err(|_| malformed("`ciphertext` is not base64"))?;
        let aad = self.header.associated_data()?;
        let payload = Payload { msg: &ciphertext, aad: &aad };
        let decrypted = self
            .header
            .cipher(passphrase)?
            .decrypt(&XNonce::from(nonce), payload)
            .map_err(|_| SecretError::WrongPassphrase)?;
        let decrypted = Zeroizing::new(decrypted);
        let seed: &[u8; SEED_BYTES] =
            decrypted.as_slice().try_into().map_err(|_| malformed("the key has another length"))?;
        if SigningKey::from_seed(*seed).public() != self.header.public {
            return Err(SecretError::OtherKey);
        }
        Ok(Zeroizing::new(*seed))
    }

    /// The id of the key.
    #[must_use]
    pub fn id(&self) -> &KeyId {
        &self.header.id
    }

    /// The public key.
    #[must_use]
    pub fn public(&self) -> &PublicKey {
        &self.header.public
    }

    /// The file as one line of JSON with a line feed.
    ///
    /// # Errors
    /// [`SecretError::Canonical`]; this does not happen for a file that was parsed or generated.
    pub fn to_json(&self) -> Result<String, SecretError> {
        let KeyFileHeader { v, kind, id, public, kdf, cipher } = self.header.clone();
        let (nonce, ciphertext) = (self.nonce.clone(), self.ciphertext.clone());
        let json = KeyFileJson { v, kind, id, public, kdf, cipher, nonce, ciphertext };
        let bytes = canonical::serialize(&json, Profile::Record)?;
        Ok(format!("{}\n", String::from_utf8_lossy(&bytes)))
    }

    /// Replaces an existing file in one step, and syncs it.
    ///
    /// # Errors
    /// [`SecretError::Unwritable`]; the file is as it was then.
    pub fn replace(&self, path: &Path) -> Result<(), SecretError> {
        let failed = |source| SecretError::Unwritable { file: path.display().to_string(), source };
        replace_file(path, &self.to_json()?).map_err(failed)
    }

    /// Writes a new file that only this user can read, and syncs it. It never overwrites a file.
    ///
    /// # Errors
    /// [`SecretError::Exists`] and [`SecretError::Unwritable`]; no file is left behind then.
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

impl KeyFileHeader {
    fn associated_data(&self) -> Result<Vec<u8>, SecretError> {
        Ok(canonical::serialize(self, Profile::Record)?)
    }

    /// The cipher under the key derived from the passphrase.
    fn cipher(&self, passphrase: &Passphrase) -> Result<XChaCha20Poly1305, SecretError> {
        let derivation = |error: argon2::Error| SecretError::Derivation(error.to_string());
        let Kdf { memory_kib, iterations, lanes, salt, .. } = &self.kdf;
        let params = Params::new(*memory_kib, *iterations, *lanes, Some(SEED_BYTES));
        let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.map_err(derivation)?);
        let salt: [u8; SALT_BYTES] = decode(salt, "salt")?;
        let mut key = Zeroizing::new([0_u8; SEED_BYTES]);
        argon
            .hash_password_into(passphrase.as_bytes(), &salt, key.as_mut_slice())
            .map_err(derivation)?;
        XChaCha20Poly1305::new_from_slice(key.as_slice())
            .map_err(|_| SecretError::Derivation("the key has another length".to_owned()))
    }
}

fn malformed(reason: &str) -> SecretError {
    let excerpt =
        weaver_text::escape::line(weaver_text::escape::truncate(reason, 160)).into_owned();
    SecretError::Malformed { reason: excerpt }
}

fn decode<const N: usize>(text: &str, what: &str) -> Result<[u8; N], SecretError> {
    let wrong = || malformed(&format!("`{what}` is not base64 of {N} bytes"));
    STANDARD.decode(text).map_err(|_| wrong())?.try_into().map_err(|_| wrong())
}

#[cfg(test)]
mod tests;
