//! The keys document as a value: approvers and what each may release.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weaver_types::signature::PublicKey;
use weaver_types::{Confidentiality, Timestamp};

/// A person who may release what is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approver {
    /// The key that this person signs with.
    pub key: PublicKey,
    /// Trust, in thousandths.
    pub trust: u16,
    /// The most confidential data this person may release.
    pub clearance: Confidentiality,
    /// Scopes that this person covers.
    pub scopes: BTreeSet<String>,
    /// From when on the key counts.
    pub not_before: Option<Timestamp>,
    /// Until when the key counts.
    pub not_after: Option<Timestamp>,
}

impl Approver {
    /// Whether the key counts at that time: from `not_before` on, and before `not_after`.
    #[must_use]
    pub fn counts_at(&self, at: Timestamp) -> bool {
        self.not_before.is_none_or(|from| from <= at) && self.not_after.is_none_or(|to| at < to)
    }
}

/// The keys document as a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Keys {
    /// Its name.
    pub id: String,
    /// Its version; a later one is greater.
    pub version: u64,
    /// From when on it is void.
    pub expires: Option<Timestamp>,
    /// The approvers, by the name of the person.
    pub approvers: BTreeMap<String, Approver>,
}
