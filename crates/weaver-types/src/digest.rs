//! SHA-256 digests with domain separation, so that no hash or signature of one kind passes for
//! another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

use crate::id::{hex, write_hex};

/// The domain of a hash or a signature: an ASCII text that is hashed, with a zero byte, before the
/// message. Each kind of message has its own, so equal bytes of two kinds never have equal digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainTag(&'static str);

impl DomainTag {
    /// A capability: canonical bytes of everything that tokens and approvals bind.
    pub const FINGERPRINT: Self = Self("weaver/fingerprint/v1");
    /// A tool definition and its server's instructions, as received, to detect drift: both as
    /// parts.
    pub const UPSTREAM: Self = Self("weaver/upstream/v1");
    /// A policy document: canonical bytes of its content, profile document.
    pub const POLICY: Self = Self("weaver/policy/v1");
    /// A tool name that was shortened for a client: server and tool as parts.
    pub const EXPOSED: Self = Self("weaver/exposed/v1");
    /// A policy that host code built: canonical bytes.
    pub const CODE_POLICY: Self = Self("weaver/code-policy/v1");
    /// A contracts document: canonical bytes of its content, profile document.
    pub const CONTRACTS: Self = Self("weaver/contracts/v1");
    /// A keys document: canonical bytes of its content, profile document.
    pub const KEYS: Self = Self("weaver/keys/v1");
    /// The arguments of a call: canonical bytes, profile foreign.
    pub const ARGS: Self = Self("weaver/args/v1");
    /// The salted commitment to arguments in the log: salt and canonical bytes as parts.
    pub const ARGS_COMMIT: Self = Self("weaver/args-commit/v1");
    /// The commitment to an event's payload: a salt of fixed length, then the payload.
    pub const COMMIT: Self = Self("weaver/commit/v1");
    /// A request for approval: canonical bytes with the exact arguments, profile foreign.
    pub const APPROVAL: Self = Self("weaver/approval/v1");
    /// A caveat of a token, under the MAC before it.
    pub const CAVEAT: Self = Self("weaver/caveat/v1");
    /// The head of a token, as its MAC covers it.
    pub const TOKEN: Self = Self("weaver/token/v1");
    /// The name of a stored blob, as a keyed hash.
    pub const BLOB: Self = Self("weaver/blob/v1");
    /// An approver's answer to a request: canonical bytes, profile record.
    pub const RESOLUTION: Self = Self("weaver/resolution/v1");
    /// A standing approval: canonical bytes, profile foreign.
    pub const STANDING: Self = Self("weaver/standing/v1");
    /// A confirmation or revocation by an operator: canonical bytes, profile record.
    pub const OPERATOR_STATEMENT: Self = Self("weaver/operator-statement/v1");
    /// A change of the key that signs a log's checkpoints: canonical bytes, profile record.
    pub const LOG_KEY: Self = Self("weaver/log-key/v1");
    /// A trace bundle: canonical bytes, profile foreign.
    pub const BUNDLE: Self = Self("weaver/bundle/v1");
    /// A snapshot of a catalog: canonical bytes, profile foreign.
    pub const CATALOG: Self = Self("weaver/catalog/v1");
    /// A commitment to a shown frame: a salt of 16 bytes, then its canonical bytes, profile foreign.
    pub const FRAME_COMMIT: Self = Self("weaver/frame-commit/v1");
    /// A user's words with a salt, as the log refers to them.
    pub const WORDS_COMMIT: Self = Self("weaver/words-commit/v1");
    /// A memory entry's value with a salt, as the log refers to it: both as parts.
    pub const MEMORY_COMMIT: Self = Self("weaver/memory-commit/v1");
    /// A provenance record of a run, as the event that writes it refers to it: id and value as
    /// parts.
    pub const PROVENANCE: Self = Self("weaver/provenance/v1");
    /// The signed bytes of an [`Envelope`](crate::signature::Envelope).
    pub const SIGNATURE: Self = Self("weaver/signature/v1");
    /// The details of check results that are not listed singly, in order, as parts.
    pub const UNLISTED: Self = Self("weaver/unlisted/v1");

    /// Every tag, in the order of its text.
    pub const ALL: [Self; 26] = [
        Self::APPROVAL,
        Self::ARGS_COMMIT,
        Self::ARGS,
        Self::BLOB,
        Self::BUNDLE,
        Self::CATALOG,
        Self::CAVEAT,
        Self::CODE_POLICY,
        Self::COMMIT,
        Self::CONTRACTS,
        Self::EXPOSED,
        Self::FINGERPRINT,
        Self::FRAME_COMMIT,
        Self::KEYS,
        Self::LOG_KEY,
        Self::MEMORY_COMMIT,
        Self::OPERATOR_STATEMENT,
        Self::POLICY,
        Self::PROVENANCE,
        Self::RESOLUTION,
        Self::SIGNATURE,
        Self::STANDING,
        Self::TOKEN,
        Self::UNLISTED,
        Self::UPSTREAM,
        Self::WORDS_COMMIT,
    ];

    /// The tag's text, ASCII without a zero byte.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// The bytes that are hashed before a message: the text and a zero byte.
    #[must_use]
    pub fn prefix(self) -> Vec<u8> {
        let mut out = self.0.as_bytes().to_vec();
        out.push(0);
        out
    }
}

/// A SHA-256 digest. Its text is `sha256:` and 64 lower-case hexadecimal digits.
///
/// ```
/// use weaver_types::digest::{Digest, DomainTag};
///
/// let digest = Digest::of(DomainTag::BLOB, b"hello");
/// assert_eq!(digest.to_string().parse::<Digest>()?, digest);
/// assert_ne!(digest, Digest::of(DomainTag::ARGS, b"hello"));
/// # Ok::<(), weaver_types::digest::DigestError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// SHA-256 over the tag, a zero byte and `bytes`.
    #[must_use]
    pub fn of(tag: DomainTag, bytes: &[u8]) -> Self {
        let mut hash = tagged_hasher(tag);
        hash.update(bytes);
        Self(hash.finalize().into())
    }

    /// SHA-256 over the tag, a zero byte, and each part preceded by its length (eight bytes, big
    /// endian), so that no byte can move from one part to the next.
    #[must_use]
    pub fn of_parts(tag: DomainTag, parts: &[&[u8]]) -> Self {
        let mut hash = tagged_hasher(tag);
        for part in parts {
            // A slice is never longer than 2^63 bytes.
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// A digest from its 32 bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 lower-case hexadecimal digits, without the prefix `sha256:`.
    #[must_use]
    pub fn to_hex(&self) -> String {
        hex(&self.0)
    }
}

/// The text of a digest, aligned to eight bytes so that UTF-8 validation can work on whole words.
#[repr(align(8))]
struct DigestText([u8; 71]);

impl DigestText {
    /// `sha256:` and the digits.
    fn of(digest: &Digest) -> Self {
        let mut text = [0; 71];
        if let Some((name, digits)) = text.split_first_chunk_mut() {
            *name = *b"sha256:";
            write_hex(&digest.0, digits);
        }
        Self(text)
    }

    fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

fn tagged_hasher(tag: DomainTag) -> Sha256 {
    let mut hash = Sha256::new();
    hash.update(tag.0.as_bytes());
    hash.update([0]);
    hash
}

/// A text that is not a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a digest: write `sha256:` and 64 lower-case hexadecimal digits")]
pub struct DigestError;

impl DigestError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "digest.text"
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let digits = text.strip_prefix("sha256:").ok_or(DigestError)?.as_bytes();
        let (pairs, rest) = digits.as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(DigestError);
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = (hex_digit(*high)? << 4) | hex_digit(*low)?;
        }
        Ok(Self(bytes))
    }
}

fn hex_digit(digit: u8) -> Result<u8, DigestError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(DigestError),
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(DigestText::of(self).as_str())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(DigestText::of(self).as_str())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
