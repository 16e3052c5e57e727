//! Signs documents and verifies their signatures.

use weaver_types::signature::{DocumentKind, Envelope, PublicKey, SignatureError, SigningKey};
use weaver_types::{Digest, KeyId, Timestamp};

use super::reader::{DocumentReader, DocumentText, excerpt};
use super::{DocumentSource, Signers, document_findings, header};
use crate::error::{DocumentFinding, LoadError};
use crate::keys::DocumentSigner;

/// The kind that a document declares.
///
/// # Errors
/// [`LoadError`] for a text over the limits, a syntax error, or a missing or unknown `kind`.
pub fn document_kind(toml_text: &str) -> Result<DocumentKind, LoadError> {
    let text = DocumentText::new("document", toml_text)?;
    let mut reader = DocumentReader::open(&text)?;
    let kind = header::kind(&mut reader);
    kind.ok_or_else(|| LoadError::new(reader.into_findings()))
}

/// The digest that a signature of this document covers. It is computed over the canonical JSON of
/// the parsed text, so comments, whitespace and the order of keys do not matter.
///
/// # Errors
/// [`LoadError`] for a text over the limits, a syntax error, or a document of another kind.
pub fn document_digest(kind: DocumentKind, toml_text: &str) -> Result<Digest, LoadError> {
    let text = DocumentText::new("document", toml_text)?;
    let mut reader = DocumentReader::open(&text)?;
    let right = header::check_kind(&mut reader, kind);
    match reader.digest(kind) {
        Some(digest) if right => Ok(digest),
        _ => Err(LoadError::new(reader.into_findings())),
    }
}

/// Validates a document completely and signs it, so nothing is signed that would not load.
///
/// `key` is written into the envelope. If it is the signer's [`signing_key_id`], a verifier can
/// tell a wrong key from a damaged signature.
///
/// # Errors
/// [`LoadError`] with everything that is wrong in the document.
pub fn sign_document(
    source: &DocumentSource<'_>,
    kind: DocumentKind,
    key: KeyId,
    signer: &SigningKey,
    now: Timestamp,
) -> Result<Envelope, LoadError> {
    let digest = document_findings(source, kind)?;
    Envelope::sign(kind, digest, key, signer, now.micros()).map_err(|error| {
        let message = format!("the signature could not be made: {error}");
        LoadError::for_file(source.name, "policy.signing", message, "check the clock")
    })
}

/// The id under which a key signs, be it the root key or another one: the text of its public key.
///
/// # Errors
/// [`IdError`](weaver_types::IdError); the text of a key is always a key id.
pub fn signing_key_id(root: &PublicKey) -> Result<KeyId, weaver_types::IdError> {
    KeyId::parse(root.to_string())
}

/// Verifies the signature of a document, and returns a finding if it is not accepted. The envelope
/// only names a key. If that is a delegate, the signature must verify under the delegate's key from
/// the keys document, the delegate must be allowed to sign this kind, and the key must be valid
/// both at the signing time and now. In every other case the signature must verify under the root
/// key.
pub(super) fn signature_finding(
    source: &DocumentSource<'_>,
    kind: DocumentKind,
    digest: Digest,
    by: Signers<'_>,
) -> Option<DocumentFinding> {
    let Some(bytes) = source.signature else {
        let message = "the document is not signed".to_owned();
        return finding(source, "policy.signature_missing", message);
    };
    let envelope = match Envelope::parse(bytes) {
        Ok(envelope) => envelope,
        Err(error) => {
            let message = format!("the signature cannot be read: {error}");
            return finding(source, "policy.signature_malformed", message);
        }
    };
    let delegate = find_delegate(&envelope, by);
    let key = delegate.map_or(by.root, |delegate| &delegate.signer.key.key);
    if let Err(error) = envelope.verify(kind, digest, key) {
        return refusal_finding(source, &envelope, &error, key);
    }
    let Delegate { name, signer } = delegate?;
    let at = Timestamp::from_micros(envelope.signed_at());
    if !signer.documents.contains(&kind) {
        let message = format!("`{}` may not sign the {kind} document", excerpt(name));
        return finding(source, "policy.signer_document", message);
    }
    if !(signer.key.is_valid_at(at) && signer.key.is_valid_at(by.now)) {
        let message = format!("the key of `{}` did not count yet or counts no more", excerpt(name));
        return finding(source, "policy.signer_void", message);
    }
    None
}

/// A signer to whom the root key delegated, with its name in the keys document.
#[derive(Clone, Copy)]
struct Delegate<'k> {
    name: &'k str,
    signer: &'k DocumentSigner,
}

/// Finds the delegate that an envelope names. The name proves nothing by itself; it only selects
/// the key under which the signature must verify.
fn find_delegate<'k>(envelope: &Envelope, by: Signers<'k>) -> Option<Delegate<'k>> {
    let key = envelope.key().as_str().parse::<PublicKey>().ok().filter(|key| key != by.root)?;
    let signers = by.keys?.signers.iter();
    signers.map(|(name, signer)| Delegate { name, signer }).find(|one| one.signer.key.key == key)
}

/// The finding for a signature that does not verify.
fn refusal_finding(
    source: &DocumentSource<'_>,
    envelope: &Envelope,
    error: &SignatureError,
    key: &PublicKey,
) -> Option<DocumentFinding> {
    let (code, message) = match error {
        SignatureError::WrongKind { .. } => ("policy.signature_kind", error.to_string()),
        SignatureError::DigestMismatch => {
            ("policy.signature_digest", "the document was changed after it was signed".to_owned())
        }
        SignatureError::Invalid if is_other_key(envelope, key) => {
            let other = excerpt(envelope.key().as_str());
            let message = format!(
                "the document is signed with `{other}`, neither the root key nor one that may sign it"
            );
            ("policy.signature_key", message)
        }
        SignatureError::Invalid => {
            let message = "the signature is not one of the key that it names over this document";
            ("policy.signature_invalid", message.to_owned())
        }
        _ => ("policy.signature_malformed", format!("the signature is refused: {error}")),
    };
    finding(source, code, message)
}

/// Whether the envelope names a different key. This only chooses the message.
fn is_other_key(envelope: &Envelope, key: &PublicKey) -> bool {
    envelope.key().as_str().parse::<PublicKey>().is_ok_and(|named| named != *key)
}

fn finding(
    source: &DocumentSource<'_>,
    code: &'static str,
    message: String,
) -> Option<DocumentFinding> {
    let remedy = match code {
        "policy.signature_key" => {
            "sign it with the root key of this installation, or correct the root key".to_owned()
        }
        "policy.signer_document" | "policy.signer_void" => {
            "sign it with the root key, or with a key that the keys document lets sign it now"
                .to_owned()
        }
        "policy.signature_kind" => "put the signature beside the document it belongs to".to_owned(),
        _ => format!("read what changed, then run `weaver sign {}`", source.name),
    };
    let file = source.name.to_owned();
    Some(DocumentFinding { file, line: None, column: None, key: None, code, message, remedy })
}
