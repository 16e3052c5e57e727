//! The keys document as a value: approvers with what each may release, and who else may sign.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weaver_types::signature::{Kind, PublicKey};
use weaver_types::{Confidentiality, PrincipalId, Timestamp};

/// A key with the time in which it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApproverKey {
    /// The key.
    pub key: PublicKey,
    /// The time from which it counts.
    pub not_before: Option<Timestamp>,
    /// The time from which it counts no more.
    pub not_after: Option<Timestamp>,
}

impl ApproverKey {
    /// Whether the key counts at that time: from `not_before` on, and before `not_after`.
    #[must_use]
    pub fn counts_at(&self, at: Timestamp) -> bool {
        self.not_before.is_none_or(|from| from <= at) && self.not_after.is_none_or(|to| at < to)
    }
}

/// A person who may release what is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approver {
    /// The keys that this person signs with, by their names; at least one. A key written as `key`
    /// instead has the name `key`.
    pub keys: BTreeMap<String, ApproverKey>,
    /// Trust, in thousandths.
    pub trust: u16,
    /// The most confidential data this person may release.
    pub clearance: Confidentiality,
    /// Scopes that this person covers. No scope stands for another.
    pub scopes: BTreeSet<String>,
    /// Roles that this person carries. No role stands for another.
    pub roles: BTreeSet<String>,
    /// The principals that are this person, whose requests this person cannot release.
    pub principals: BTreeSet<PrincipalId>,
    /// Whether this person may confirm the clock, end runs and revoke approvals.
    pub operator: bool,
}

/// A key, under the root key, that may sign documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Signer {
    /// The key with its time.
    #[serde(flatten)]
    pub key: ApproverKey,
    /// The documents that it may sign: policy, contracts. The keys document is never among them.
    pub documents: BTreeSet<Kind>,
}

/// The keys document as a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Keys {
    /// Its name.
    pub id: String,
    /// Its version; a later one is greater.
    pub version: u64,
    /// The time from which the document is void.
    pub expires: Option<Timestamp>,
    /// The approvers, by the name of the person.
    pub approvers: BTreeMap<String, Approver>,
    /// Who besides the root key may sign policy and contracts.
    pub signers: BTreeMap<String, Signer>,
}
