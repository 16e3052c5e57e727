//! Names who signed a file, whatever else speaks against it.

use weaver_types::signature::{DocumentKind, Envelope, PublicKey};
use weaver_types::{Digest, KeyId};

use super::SignedFile;
use super::approver_checks::find_key_owner;
use crate::keys::Keys;

/// A key whose signature on a file holds. This says who signed, not that the file counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedSigner {
    /// The key.
    pub key: KeyId,
    /// The approver whose key it is, as the keys document names them. The file may claim another.
    pub approver: Option<String>,
}

impl SignedFile {
    /// The keys whose signatures on this file hold, in the order of the signatures. A rejected file
    /// can so be attributed to the person who signed it.
    #[must_use]
    pub fn verified_signers(&self, keys: Option<&Keys>) -> Vec<VerifiedSigner> {
        let (kind, digest, envelopes): (_, _, &[Envelope]) = match self {
            Self::Resolution(signed) => (
                DocumentKind::Resolution,
                signed.resolution.signed_digest(),
                std::slice::from_ref(&signed.envelope),
            ),
            Self::Standing(signed) => {
                (DocumentKind::Standing, signed.standing.signed_digest(), &signed.envelopes)
            }
            Self::OperatorStatement(signed) => (
                DocumentKind::OperatorStatement,
                signed.operator_statement.signed_digest(),
                std::slice::from_ref(&signed.envelope),
            ),
        };
        let Ok(digest) = digest else { return Vec::new() };
        let signed = envelopes.iter().filter(|envelope| is_signed(envelope, kind, digest));
        signed
            .map(|envelope| VerifiedSigner {
                key: envelope.key().clone(),
                approver: keys
                    .and_then(|keys| find_key_owner(keys, envelope.key()).ok())
                    .map(|owner| owner.name.to_owned()),
            })
            .collect()
    }
}

/// Whether the key that an envelope names has signed this digest.
fn is_signed(envelope: &Envelope, kind: DocumentKind, digest: Digest) -> bool {
    let key = envelope.key().as_str().parse::<PublicKey>();
    key.is_ok_and(|key| envelope.verify(kind, digest, &key).is_ok())
}
