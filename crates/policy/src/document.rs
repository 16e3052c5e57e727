//! From text to values: limits, form, signatures and content, with every finding at once.

mod agents;
mod arguments;
mod authority;
mod canonical;
mod code;
mod contracts;
mod header;
mod issuers;
mod keys;
mod keywords;
mod limits;
mod matches;
mod node;
mod outline;
mod policy;
mod preconditions;
mod reader;
mod rules;
mod signing;
mod validate;

use weaver_types::signature::{Kind, PublicKey};
use weaver_types::{Digest, Timestamp};

use crate::contract::Contracts;
use crate::error::{Finding, LoadError};
use crate::keys::Keys;
use crate::policy::Policy;
use reader::{DocumentReader, DocumentText};

pub use signing::{digest_of, kind_of, root_key_id, sign};
pub(crate) use validate::validate;

/// The largest document, in bytes.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The most rules in a policy, and the most entries in any other list of a document.
pub const MAX_ENTRIES: usize = 20_000;
/// The deepest nesting of a document.
pub const MAX_DEPTH: usize = 32;
/// The newest form of documents that this build reads: that of policies. Contracts and keys have
/// form 1.
pub const FORMAT: u64 = 2;

/// The newest form of the documents of a kind. The second form of policies knows `enforcement`: a
/// reader that knows the first alone refuses it, so that none takes a policy that observes for one
/// that enforces.
fn newest_format(kind: Kind) -> u64 {
    if kind == Kind::Policy { FORMAT } else { 1 }
}

/// A document as its files hold it.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The name of the file, for messages.
    pub name: &'a str,
    /// The text.
    pub toml: &'a str,
    /// The signature envelope beside it: JSON.
    pub signature: Option<&'a [u8]>,
}

impl<'a> Source<'a> {
    /// A document without a signature.
    #[must_use]
    pub fn unsigned(name: &'a str, toml: &'a str) -> Self {
        Self { name, toml, signature: None }
    }

    /// A document with the signature that stands beside it.
    #[must_use]
    pub fn signed(name: &'a str, toml: &'a str, signature: &'a [u8]) -> Self {
        Self { name, toml, signature: Some(signature) }
    }
}

/// The three documents.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// Rules, principals, trusted hosts.
    pub policy: Source<'a>,
    /// What the operator says of each capability.
    pub contracts: Source<'a>,
    /// Approvers and their authority.
    pub keys: Source<'a>,
}

/// What a document must show to be believed.
#[derive(Clone, Copy)]
pub(crate) enum SignatureRequirement<'a> {
    /// A signature of the root key or of a key that it delegated to.
    Signed(Signers<'a>),
    /// Nothing: for development, and for text that is part of the program.
    Unsigned,
}

/// Whose signatures count at a time.
#[derive(Clone, Copy)]
pub(crate) struct Signers<'a> {
    /// The root key.
    pub(crate) root: &'a PublicKey,
    /// A keys document that the root key signed, for the two other documents.
    pub(crate) keys: Option<&'a Keys>,
    /// The time.
    pub(crate) now: Timestamp,
}

/// Documents in which nothing is wrong.
pub(crate) struct CheckedDocuments {
    pub(crate) policy: Policy,
    pub(crate) contracts: Contracts,
    pub(crate) keys: Option<Keys>,
    pub(crate) policy_digest: Digest,
    pub(crate) contracts_digest: Digest,
    pub(crate) keys_digest: Option<Digest>,
}

/// What came of reading one document: a value where there is one, and what is wrong in it.
struct ReadDocument<T> {
    read: Option<WithDigest<T>>,
    findings: Vec<Finding>,
}

/// The value of a document and the digest that signatures cover.
struct WithDigest<T> {
    value: T,
    digest: Digest,
}

impl<T> ReadDocument<T> {
    fn refused(error: &LoadError) -> Self {
        Self { read: None, findings: error.findings().to_vec() }
    }

    /// The document, unless anything is wrong in it.
    fn accept(self) -> Result<WithDigest<T>, LoadError> {
        match self.read {
            Some(read) if self.findings.is_empty() => Ok(read),
            _ => Err(LoadError::new(self.findings)),
        }
    }
}

/// Reads all three documents and gathers what is wrong in any of them.
pub(crate) fn check(
    sources: &Sources<'_>,
    trust: SignatureRequirement<'_>,
    now: Option<Timestamp>,
) -> Result<CheckedDocuments, LoadError> {
    let keys = one(&sources.keys, Kind::Keys, trust, now, keys::read);
    // Only keys in which nothing is wrong, signature included, delegate to anybody.
    let delegating = keys.read.as_ref().filter(|_| keys.findings.is_empty());
    let trust = match trust {
        SignatureRequirement::Signed(by) => {
            SignatureRequirement::Signed(Signers { keys: delegating.map(|keys| &keys.value), ..by })
        }
        SignatureRequirement::Unsigned => SignatureRequirement::Unsigned,
    };
    let policy = one(&sources.policy, Kind::Policy, trust, now, policy::read);
    let contracts = one(&sources.contracts, Kind::Contracts, trust, now, contracts::read);
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

fn one<T>(
    source: &Source<'_>,
    kind: Kind,
    trust: SignatureRequirement<'_>,
    now: Option<Timestamp>,
    read: fn(&mut DocumentReader<'_>, now: Option<Timestamp>) -> T,
) -> ReadDocument<T> {
    let text = match DocumentText::new(source.name, source.toml) {
        Ok(text) => text,
        Err(error) => return ReadDocument::refused(&error),
    };
    let mut reader = match DocumentReader::open(&text) {
        Ok(reader) => reader,
        Err(error) => return ReadDocument::refused(&error),
    };
    let digest = reader.digest(kind);
    let mut findings = Vec::new();
    if let (SignatureRequirement::Signed(by), Some(digest)) = (trust, digest) {
        findings.extend(signing::verify(source, kind, digest, by));
    }
    let value = header::is_kind(&mut reader, kind).then(|| read(&mut reader, now));
    findings.extend(reader.into_findings());
    let read = value.zip(digest).map(|(value, digest)| WithDigest { value, digest });
    ReadDocument { read, findings }
}

/// Reads a document that is part of the program.
fn read_unsigned<T>(
    source: &Source<'_>,
    kind: Kind,
    read: fn(&mut DocumentReader<'_>, Option<Timestamp>) -> T,
) -> Result<T, LoadError> {
    let document = one(source, kind, SignatureRequirement::Unsigned, None, read);
    document.accept().map(|read| read.value)
}

/// Reads one document of any kind for its findings alone.
fn read_any(source: &Source<'_>, kind: Kind) -> Result<Digest, LoadError> {
    fn digest<T>(document: ReadDocument<T>) -> Result<Digest, LoadError> {
        document.accept().map(|read| read.digest)
    }
    let unsigned = SignatureRequirement::Unsigned;
    match kind {
        Kind::Policy => digest(one(source, kind, unsigned, None, policy::read)),
        Kind::Contracts => digest(one(source, kind, unsigned, None, contracts::read)),
        Kind::Keys => digest(one(source, kind, unsigned, None, keys::read)),
        _ => Err(LoadError::new(Vec::new())),
    }
}
