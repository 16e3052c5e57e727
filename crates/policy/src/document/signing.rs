//! Signing documents, and verifying that they are signed.

use weaver_types::signature::{Envelope, Kind, PublicKey, SignatureError, SigningKey};
use weaver_types::{Digest, KeyId, Timestamp};

use super::reader::{DocumentReader, DocumentText, shown};
use super::{Signers, Source, header, read_any};
use crate::error::{Finding, LoadError};
use crate::keys::Signer;

/// The kind that a document says it is.
///
/// # Errors
/// [`LoadError`] for a text over the limits, for a syntax error, and where `kind` is missing or
/// unknown.
pub fn kind_of(toml_text: &str) -> Result<Kind, LoadError> {
    let text = DocumentText::new("document", toml_text)?;
    let mut reader = DocumentReader::open(&text)?;
    let kind = header::kind(&mut reader);
    kind.ok_or_else(|| LoadError::new(reader.into_findings()))
}

/// The digest that a signature of this document covers: over the canonical JSON of the parsed
/// text, so that comments, blanks and the order of keys do not count.
///
/// # Errors
/// [`LoadError`] for a text over the limits, a syntax error, or a document of another kind.
pub fn digest_of(kind: Kind, toml_text: &str) -> Result<Digest, LoadError> {
    let text = DocumentText::new("document", toml_text)?;
    let mut reader = DocumentReader::open(&text)?;
    let right = header::is_kind(&mut reader, kind);
    match reader.digest(kind) {
        Some(digest) if right => Ok(digest),
        _ => Err(LoadError::new(reader.into_findings())),
    }
}

/// Signs a document after reading it whole, so that nothing is signed that would not load.
///
/// `key` is written into the envelope. With [`root_key_id`] of the signer, a reader can tell a
/// wrong key from a damaged signature.
///
/// # Errors
/// [`LoadError`] with everything that is wrong in the document.
pub fn sign(
    source: &Source<'_>,
    kind: Kind,
    key: KeyId,
    signer: &SigningKey,
    now: Timestamp,
) -> Result<Envelope, LoadError> {
    let digest = read_any(source, kind)?;
    Envelope::sign(kind, digest, key, signer, now.micros()).map_err(|error| {
        let message = format!("the signature could not be made: {error}");
        LoadError::whole(source.name, "policy.signing", message, "check the clock")
    })
}

/// The id under which a key signs, the root key as any other: the text of its public key.
///
/// # Errors
/// [`IdError`](weaver_types::IdError); the text of a key is always a key id.
pub fn root_key_id(root: &PublicKey) -> Result<KeyId, weaver_types::IdError> {
    KeyId::parse(root.to_string())
}

/// What is wrong with the signature of a document.
pub(super) fn verify(
    source: &Source<'_>,
    kind: Kind,
    digest: Digest,
    by: Signers<'_>,
) -> Option<Finding> {
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
    let delegate = delegate(&envelope, by);
    let key = delegate.map_or(by.root, |delegate| &delegate.signer.key.key);
    if let Err(error) = envelope.verify(kind, digest, key) {
        return refused(source, &envelope, &error, key);
    }
    let Delegate { name, signer } = delegate?;
    let at = Timestamp::from_micros(envelope.signed_at());
    if !signer.documents.contains(&kind) {
        let message = format!("`{}` may not sign the {kind} document", shown(name));
        return finding(source, "policy.signer_document", message);
    }
    if !(signer.key.counts_at(at) && signer.key.counts_at(by.now)) {
        let message = format!("the key of `{}` did not count yet or counts no more", shown(name));
        return finding(source, "policy.signer_void", message);
    }
    None
}

/// A signer to whom the root key delegated, with the name in the keys document.
#[derive(Clone, Copy)]
struct Delegate<'k> {
    name: &'k str,
    signer: &'k Signer,
}

/// The signer, other than the root key, that an envelope names. A name alone settles nothing: it
/// says only under which key the signature has to hold.
fn delegate<'k>(envelope: &Envelope, by: Signers<'k>) -> Option<Delegate<'k>> {
    let key = envelope.key().as_str().parse::<PublicKey>().ok().filter(|key| key != by.root)?;
    let signers = by.keys?.signers.iter();
    signers.map(|(name, signer)| Delegate { name, signer }).find(|one| one.signer.key.key == key)
}

/// What is said of a signature that does not verify.
fn refused(
    source: &Source<'_>,
    envelope: &Envelope,
    error: &SignatureError,
    key: &PublicKey,
) -> Option<Finding> {
    let (code, message) = match error {
        SignatureError::WrongKind { .. } => ("policy.signature_kind", error.to_string()),
        SignatureError::DigestMismatch => {
            ("policy.signature_digest", "the document was changed after it was signed".to_owned())
        }
        SignatureError::Invalid if is_other_key(envelope, key) => {
            let other = shown(envelope.key().as_str());
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

/// Whether the envelope names another key by its text. A name alone settles nothing.
fn is_other_key(envelope: &Envelope, key: &PublicKey) -> bool {
    envelope.key().as_str().parse::<PublicKey>().is_ok_and(|named| named != *key)
}

fn finding(source: &Source<'_>, code: &'static str, message: String) -> Option<Finding> {
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
    Some(Finding { file, line: None, column: None, key: None, code, message, remedy })
}
