//! The parsed keys document: the approvers with their authority, and the delegated document
//! signers.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weaver_types::signature::{DocumentKind, PublicKey};
use weaver_types::{Confidentiality, PrincipalId, Timestamp};

/// A key with its validity period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimedKey {
    /// The key.
    pub key: PublicKey,
    /// The start of the validity period.
    pub not_before: Option<Timestamp>,
    /// The end of the validity period, exclusive.
    pub not_after: Option<Timestamp>,
}

impl TimedKey {
    /// Whether the key is valid at this time: at or after `not_before`, and before `not_after`.
    #[must_use]
    pub fn is_valid_at(&self, at: Timestamp) -> bool {
        self.not_before.is_none_or(|from| from <= at) && self.not_after.is_none_or(|to| at < to)
    }
}

/// A person who may release held calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approver {
    /// The person's keys, by name; at least one. A key that the document writes as `key` is named
    /// `key`.
    pub keys: BTreeMap<String, TimedKey>,
    /// Trust, in thousandths.
    pub trust: u16,
    /// The most confidential data this person may release.
    pub clearance: Confidentiality,
    /// Scopes that this person covers. No scope implies another.
    pub scopes: BTreeSet<String>,
    /// Roles of this person. No role implies another.
    pub roles: BTreeSet<String>,
    /// The principals that this person acts as. The person cannot release their requests.
    pub principals: BTreeSet<PrincipalId>,
    /// Whether this person may confirm the clock, end runs and revoke approvals.
    pub operator: bool,
}

/// A key to which the root key delegates the signing of documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentSigner {
    /// The key with its validity period.
    #[serde(flatten)]
    pub key: TimedKey,
    /// The documents that it may sign: policy or contracts, but never the keys document. Otherwise
    /// a delegate could appoint signers itself.
    pub documents: BTreeSet<DocumentKind>,
}

/// The parsed keys document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Keys {
    /// The id of the document.
    pub id: String,
    /// The version; newer versions are greater.
    pub version: u64,
    /// The time from which the document is void.
    pub expires: Option<Timestamp>,
    /// The approvers, by the name of the person.
    pub approvers: BTreeMap<String, Approver>,
    /// Who may sign policy and contracts, besides the root key.
    pub signers: BTreeMap<String, DocumentSigner>,
}
