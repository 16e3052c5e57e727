//! Parses documents: checks limits, format, signatures and content, and reports all findings at
//! once.

mod agents;
mod arguments;
mod authority;
mod canonical;
mod contracts;
mod documents_in_code;
mod header;
mod issuers;
mod keys;
mod keywords;
mod limit_scan;
mod limits;
mod matches;
mod node;
mod policy;
mod preconditions;
mod reader;
mod rules;
mod signing;
mod validate;

use weaver_types::signature::{DocumentKind, PublicKey};
use weaver_types::{Digest, Timestamp};

use crate::contract::Contracts;
use crate::error::{DocumentFinding, LoadError};
use crate::keys::Keys;
use crate::policy::Policy;
use reader::{DocumentReader, DocumentText};

pub use signing::{document_digest, document_kind, sign_document, signing_key_id};
pub(crate) use validate::validate;

/// The largest document, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 4 * 1024 * 1024;
/// The maximum number of rules in a policy, and of entries in any other list of a document.
pub const MAX_DOCUMENT_ENTRIES: usize = 20_000;
/// The maximum nesting depth of a document.
pub const MAX_DOCUMENT_DEPTH: usize = 32;
/// The document format that this build reads.
pub const NEWEST_FORMAT: u64 = 1;

/// The files of one document.
#[derive(Debug, Clone, Copy)]
pub struct DocumentSource<'a> {
    /// The name of the file, for messages.
    pub name: &'a str,
    /// The text.
    pub toml: &'a str,
    /// The signature envelope, as JSON.
    pub signature: Option<&'a [u8]>,
}

impl<'a> DocumentSource<'a> {
    /// A document without a signature.
    #[must_use]
    pub fn unsigned(name: &'a str, toml: &'a str) -> Self {
        Self { name, toml, signature: None }
    }

    /// A document with its signature.
    #[must_use]
    pub fn signed(name: &'a str, toml: &'a str, signature: &'a [u8]) -> Self {
        Self { name, toml, signature: Some(signature) }
    }
}

/// The three documents.
#[derive(Debug, Clone, Copy)]
pub struct DocumentSources<'a> {
    /// Rules, principals, trusted hosts.
    pub policy: DocumentSource<'a>,
    /// What the operator declares about each capability.
    pub contracts: DocumentSource<'a>,
    /// Approvers and their authority.
    pub keys: DocumentSource<'a>,
}

/// Which signature a document needs to be accepted.
#[derive(Clone, Copy)]
pub(crate) enum SignatureRequirement<'a> {
    /// A signature by the root key, or by a key that it delegated to.
    Signed(Signers<'a>),
    /// None: for development, and for text that is part of the program.
    Unsigned,
}

/// Whose signatures are accepted at a given time.
#[derive(Clone, Copy)]
pub(crate) struct Signers<'a> {
    /// The root key.
    pub(crate) root: &'a PublicKey,
    /// A keys document signed by the root key, with the delegates for the two other documents.
    pub(crate) keys: Option<&'a Keys>,
    /// The time.
    pub(crate) now: Timestamp,
}

/// Documents without findings.
pub(crate) struct CheckedDocuments {
    pub(crate) policy: Policy,
    pub(crate) contracts: Contracts,
    pub(crate) keys: Option<Keys>,
    pub(crate) policy_digest: Digest,
    pub(crate) contracts_digest: Digest,
    pub(crate) keys_digest: Option<Digest>,
}

/// The result of reading one document: the value, if there is one, and the findings.
struct ParsedDocument<T> {
    read: Option<WithDigest<T>>,
    findings: Vec<DocumentFinding>,
}

/// The value of a document, and the digest that a signature covers.
struct WithDigest<T> {
    value: T,
    digest: Digest,
}

impl<T> ParsedDocument<T> {
    fn from_error(error: &LoadError) -> Self {
        Self { read: None, findings: error.findings().to_vec() }
    }

    /// The document, unless it has findings.
    fn accept(self) -> Result<WithDigest<T>, LoadError> {
        match self.read {
            Some(read) if self.findings.is_empty() => Ok(read),
            _ => Err(LoadError::new(self.findings)),
        }
    }
}

/// Reads all three documents and collects all findings. The keys come first, because they name the
/// delegates that may sign the other two.
pub(crate) fn read_documents(
    sources: &DocumentSources<'_>,
    trust: SignatureRequirement<'_>,
    now: Option<Timestamp>,
) -> Result<CheckedDocuments, LoadError> {
    let keys = read_document(&sources.keys, DocumentKind::Keys, trust, now, keys::read);
    // Only a keys document without findings, including its signature, can delegate.
    let delegating = keys.read.as_ref().filter(|_| keys.findings.is_empty());
    let trust = match trust {
        SignatureRequirement::Signed(by) => {
            SignatureRequirement::Signed(Signers { keys: delegating.map(|keys| &keys.value), ..by })
        }
        SignatureRequirement::Unsigned => SignatureRequirement::Unsigned,
    };
    let policy = read_document(&sources.policy, DocumentKind::Policy, trust, now, policy::read);
    let contracts =
        read_document(&sources.contracts, DocumentKind::Contracts, trust, now, contracts::read);
    let mut findings = policy.findings;
    findings.extend(contracts.findings);
    findings.extend(keys.findings);
    match (policy.read, contracts.read, keys.read) {
        (Some(policy), Some(contracts), Some(keys)) if findings.is_empty() => {
            Ok(CheckedDocuments {
                policy: policy.value,
                contracts: contracts.value,
                keys: Some(keys.value),
                policy_digest: policy.digest,
                contracts_digest: contracts.digest,
                keys_digest: Some(keys.digest),
            })
        }
        _ => Err(LoadError::new(findings)),
    }
}

fn read_document<T>(
    source: &DocumentSource<'_>,
    kind: DocumentKind,
    trust: SignatureRequirement<'_>,
    now: Option<Timestamp>,
    read: fn(&mut DocumentReader<'_>, now: Option<Timestamp>) -> T,
) -> ParsedDocument<T> {
    let text = match DocumentText::new(source.name, source.toml) {
        Ok(text) => text,
        Err(error) => return ParsedDocument::from_error(&error),
    };
    let mut reader = match DocumentReader::open(&text) {
        Ok(reader) => reader,
        Err(error) => return ParsedDocument::from_error(&error),
    };
    let digest = reader.digest(kind);
    let mut findings = Vec::new();
    if let (SignatureRequirement::Signed(by), Some(digest)) = (trust, digest) {
        findings.extend(signing::signature_finding(source, kind, digest, by));
    }
    let value = header::check_kind(&mut reader, kind).then(|| read(&mut reader, now));
    findings.extend(reader.into_findings());
    let read = value.zip(digest).map(|(value, digest)| WithDigest { value, digest });
    ParsedDocument { read, findings }
}

/// Reads a document that is compiled into the program.
fn read_unsigned<T>(
    source: &DocumentSource<'_>,
    kind: DocumentKind,
    read: fn(&mut DocumentReader<'_>, Option<Timestamp>) -> T,
) -> Result<T, LoadError> {
    let document = read_document(source, kind, SignatureRequirement::Unsigned, None, read);
    document.accept().map(|read| read.value)
}

/// Validates a document of any kind, and returns its digest.
fn document_findings(source: &DocumentSource<'_>, kind: DocumentKind) -> Result<Digest, LoadError> {
    fn digest<T>(document: ParsedDocument<T>) -> Result<Digest, LoadError> {
        document.accept().map(|read| read.digest)
    }
    let unsigned = SignatureRequirement::Unsigned;
    match kind {
        DocumentKind::Policy => digest(read_document(source, kind, unsigned, None, policy::read)),
        DocumentKind::Contracts => {
            digest(read_document(source, kind, unsigned, None, contracts::read))
        }
        DocumentKind::Keys => digest(read_document(source, kind, unsigned, None, keys::read)),
        _ => Err(LoadError::new(Vec::new())),
    }
}
