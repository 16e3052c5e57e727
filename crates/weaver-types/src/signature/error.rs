//! Errors of signatures, envelopes and keys.

use super::DocumentKind;
use crate::canonical::CanonicalError;

/// A refused signature, envelope or key. Any of these means: treat the document as unsigned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The envelope was made by a newer version of this software.
    #[error(
        "envelope version {found} is newer than {known}: use a release that reads version {found}"
    )]
    UnknownVersion {
        /// The version that the envelope names.
        found: u64,
        /// The newest version that this build reads.
        known: u64,
    },
    /// The envelope is no strict JSON.
    #[error("envelope is not canonical JSON: {0}")]
    Json(#[from] CanonicalError),
    /// The envelope has a wrong, missing or unknown field.
    #[error("envelope has a wrong, missing or unknown field: {field}")]
    Field {
        /// What is wrong with which field.
        field: String,
    },
    /// The envelope names another signature algorithm.
    #[error("envelope algorithm is not `ed25519`: sign again with an ed25519 key")]
    Algorithm,
    /// The envelope signs another kind of document.
    #[error("envelope signs a {found} document, not a {wanted} document")]
    WrongKind {
        /// The kind that the caller expected.
        wanted: DocumentKind,
        /// The kind that the envelope names.
        found: DocumentKind,
    },
    /// The document is not the one that was signed.
    #[error("document differs from the signed one: restore it or sign it again")]
    DigestMismatch,
    /// A signature or key is not base64 of the right length.
    #[error("{what} is not standard padded base64 of {bytes} bytes")]
    Encoding {
        /// `signature` or `public key`.
        what: &'static str,
        /// The expected length after decoding.
        bytes: usize,
    },
    /// A public key lacks the prefix `ed25519:`, or is not a point of the curve.
    #[error("public key is not `ed25519:` and base64 of a curve point")]
    Key,
    /// A public key of small order, which accepts forged signatures.
    #[error("public key is weak (small order): generate another key")]
    WeakKey,
    /// A text to be signed without a tag contains a control character other than a line feed.
    #[error("text holds a control character: such a text is never signed without a domain tag")]
    Text,
    /// The signature does not match the envelope and the key.
    #[error("signature does not match the document, the envelope and the key")]
    Invalid,
}

impl SignatureError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownVersion { .. } => "signature.unknown_version",
            Self::Json(_) => "signature.json",
            Self::Field { .. } => "signature.field",
            Self::Algorithm => "signature.algorithm",
            Self::WrongKind { .. } => "signature.wrong_kind",
            Self::DigestMismatch => "signature.digest_mismatch",
            Self::Encoding { .. } => "signature.encoding",
            Self::Key => "signature.key",
            Self::WeakKey => "signature.weak_key",
            Self::Text => "signature.text",
            Self::Invalid => "signature.invalid",
        }
    }
}
