//! The detached envelope next to a signed document.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use super::key::{decode_base64, encode_base64};
use super::{PublicKey, SIGNATURE_BYTES, SignatureError, SigningKey};
use crate::canonical::{self, Profile};
use crate::digest::{Digest, DomainTag};
use crate::id::KeyId;

/// The envelope version that this build writes, and the newest that it reads.
pub const VERSION: u64 = 1;
/// The one signature algorithm.
pub const ALGORITHM: &str = "ed25519";
/// How much of an envelope's text an error quotes, in characters.
const MAX_REPEATED: usize = 160;

/// The kind of document that an envelope signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DocumentKind {
    /// Rules, principals and trusted hosts.
    Policy,
    /// The operator's statements about each capability.
    Contracts,
    /// Approvers, their authority and their keys.
    Keys,
    /// An approver's answer to one request.
    Resolution,
    /// An approval given in advance.
    Standing,
    /// A confirmation or revocation by an operator.
    OperatorStatement,
    /// A run of the log, as the public contract `TraceBundle`.
    Bundle,
}

crate::words! { DocumentKind: "The name of the kind in envelopes.";
    Policy = "policy", Contracts = "contracts", Keys = "keys", Resolution = "resolution",
    Standing = "standing", OperatorStatement = "operator_statement", Bundle = "bundle",
}

impl DocumentKind {
    /// The domain tag under which a document of this kind is hashed.
    #[must_use]
    pub fn tag(self) -> DomainTag {
        match self {
            Self::Policy => DomainTag::POLICY,
            Self::Contracts => DomainTag::CONTRACTS,
            Self::Keys => DomainTag::KEYS,
            Self::Resolution => DomainTag::RESOLUTION,
            Self::Standing => DomainTag::STANDING,
            Self::OperatorStatement => DomainTag::OPERATOR_STATEMENT,
            Self::Bundle => DomainTag::BUNDLE,
        }
    }

    /// The digest of a document. `document` is the canonical JSON, under
    /// [`Profile::Document`](crate::canonical::Profile::Document), of the content of its TOML file.
    /// So comments, white space and key order are not covered; every value is.
    #[must_use]
    pub fn digest(self, document: &[u8]) -> Digest {
        Digest::of(self.tag(), document)
    }
}

impl fmt::Display for DocumentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A detached signature and the fields that it covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Envelope {
    #[serde(flatten)]
    signed: SignedFields,
    /// Standard padded base64 of 64 bytes.
    signature: String,
}

/// The fields that the signature covers; their canonical JSON is the signed message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct SignedFields {
    v: u64,
    kind: DocumentKind,
    digest: Digest,
    key: KeyId,
    alg: String,
    signed_at: i64,
}

/// The JSON form of an envelope on disk.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvelopeJson {
    v: u64,
    kind: DocumentKind,
    digest: Digest,
    key: KeyId,
    alg: String,
    signed_at: i64,
    signature: String,
}

impl Envelope {
    /// Signs a document's digest. `signed_at` is in microseconds since 1970, UTC.
    ///
    /// # Errors
    ///
    /// [`SignatureError::Json`] when `signed_at` lies beyond ±2^53.
    pub fn sign(
        kind: DocumentKind,
        digest: Digest,
        key: KeyId,
        signer: &SigningKey,
        signed_at: i64,
    ) -> Result<Self, SignatureError> {
        let alg = ALGORITHM.to_owned();
        let signed = SignedFields { v: VERSION, kind, digest, key, alg, signed_at };
        let signature = encode_base64(&signer.sign(DomainTag::SIGNATURE, &signed.message()?));
        Ok(Self { signed, signature })
    }

    /// Parses an envelope, without verifying it.
    ///
    /// # Errors
    ///
    /// [`SignatureError::Json`] for anything but strict JSON, [`SignatureError::UnknownVersion`]
    /// for a newer envelope, [`SignatureError::Field`] for a wrong, missing or unknown field.
    pub fn parse(bytes: &[u8]) -> Result<Self, SignatureError> {
        Self::from_value(canonical::parse(bytes, Profile::Record)?)
    }

    fn from_value(value: Value) -> Result<Self, SignatureError> {
        let found = value.get("v").and_then(Value::as_u64);
        match found {
            Some(found) if found > VERSION => {
                return Err(SignatureError::UnknownVersion { found, known: VERSION });
            }
            Some(VERSION) => {}
            _ => return Err(SignatureError::Field { field: format!("`v` is not {VERSION}") }),
        }
        let wire: EnvelopeJson =
            serde_json::from_value(value).map_err(|e| SignatureError::Field {
                field: e.to_string().escape_debug().take(MAX_REPEATED).collect(),
            })?;
        let EnvelopeJson { v, kind, digest, key, alg, signed_at, signature } = wire;
        Ok(Self { signed: SignedFields { v, kind, digest, key, alg, signed_at }, signature })
    }

    /// Verifies that this envelope signs that document of that kind with that key.
    ///
    /// # Errors
    ///
    /// [`SignatureError`], the first that applies: unknown version, algorithm, wrong kind, digest
    /// mismatch, encoding, invalid.
    pub fn verify(
        &self,
        kind: DocumentKind,
        digest: Digest,
        key: &PublicKey,
    ) -> Result<(), SignatureError> {
        let SignedFields { v, kind: found, digest: signed, alg, .. } = &self.signed;
        if *v != VERSION {
            return Err(SignatureError::UnknownVersion { found: *v, known: VERSION });
        }
        if alg != ALGORITHM {
            return Err(SignatureError::Algorithm);
        }
        if *found != kind {
            return Err(SignatureError::WrongKind { wanted: kind, found: *found });
        }
        if *signed != digest {
            return Err(SignatureError::DigestMismatch);
        }
        let signature: [u8; SIGNATURE_BYTES] = decode_base64(&self.signature, "signature")?;
        key.verify(DomainTag::SIGNATURE, &self.signed.message()?, &signature)
    }

    /// The envelope as one line of canonical JSON, without a trailing line feed.
    ///
    /// # Errors
    ///
    /// [`SignatureError::Json`] when a number lies beyond ±2^53; an envelope that was signed or
    /// parsed has none.
    pub fn to_json(&self) -> Result<String, SignatureError> {
        let bytes = canonical::serialize(self, Profile::Record)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The kind of document that it claims to sign.
    #[must_use]
    pub fn kind(&self) -> DocumentKind {
        self.signed.kind
    }

    /// The digest that it claims to sign.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.signed.digest
    }

    /// The key that it claims to be signed with: look it up, then call [`Envelope::verify`].
    #[must_use]
    pub fn key(&self) -> &KeyId {
        &self.signed.key
    }

    /// The claimed time of signing, in microseconds since 1970, UTC.
    #[must_use]
    pub fn signed_at(&self) -> i64 {
        self.signed.signed_at
    }
}

impl SignedFields {
    fn message(&self) -> Result<Vec<u8>, SignatureError> {
        Ok(canonical::serialize(self, Profile::Record)?)
    }
}

impl<'de> Deserialize<'de> for Envelope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(Value::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
