//! Contracts: what the operator says of each capability. It takes precedence over what the server says.

mod contract_resolver;
mod drift;
mod effective_capability;
mod visibility;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weaver_types::{
    Agents, Confidentiality, Digest, Effects, Integrity, Pointer, Precondition, RecordFields, Rung,
    SensitivityTag, SinkKind, Timestamp,
};

use crate::pattern::Pattern;

pub(crate) use contract_resolver::ContractResolver;
pub use drift::{Drift, DriftChange, DriftClass};
pub(crate) use effective_capability::effective;
pub(crate) use visibility::visible;

/// How a capability compares with the approved contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContractStatus {
    /// It is the approved one, or host code declares it and nothing else is approved.
    Approved,
    /// A contract covers it, but pins no digest.
    Unpinned,
    /// It comes from a server and no contract covers it.
    Unknown,
    /// It is not the one that was approved.
    Changed {
        /// The approved digest.
        approved: Digest,
        /// The digest that was found: of what the server says, or the fingerprint where host code
        /// registered a capability under an id that is pinned to a server's.
        found: Digest,
    },
}

/// What is declared of the output of a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct OutputLabel {
    /// How confidential it is.
    pub confidentiality: Option<Confidentiality>,
    /// Whether it may steer.
    pub integrity: Option<Integrity>,
}

/// What the operator says of the capabilities that fit one pattern. A field that is `None` or empty
/// says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Contract {
    /// What it can do.
    pub effects: Option<Effects>,
    /// Its rung.
    pub rung: Option<Rung>,
    /// True to put it on a lower rung than its effects give.
    pub lower_rung: bool,
    /// The kind of sink that it is.
    pub sink: Option<SinkKind>,
    /// Sensitive data in its output; adds to what is known otherwise.
    pub sensitivity: BTreeSet<SensitivityTag>,
    /// Kinds of personal data that its results show to principals with the role `pii_reader`.
    pub reveal: Option<BTreeSet<String>>,
    /// Kinds of masked values that may go into it although they come from another server.
    pub accepts_masked: Option<BTreeSet<String>>,
    /// Its tags.
    pub tags: Option<BTreeSet<String>>,
    /// The fields of its output that may be shown.
    pub allowed_fields: Option<BTreeSet<String>>,
    /// The agents that may use it.
    pub agents: Option<Agents>,
    /// Permissions that its caller must have; adds to what host code declares.
    pub permissions: BTreeSet<String>,
    /// The digest of what its server said when it was approved; only under an exact id.
    pub upstream_digest: Option<Digest>,
    /// Where the records of its output carry their ids.
    pub records: Option<RecordFields>,
    /// The label of its output.
    pub output: OutputLabel,
    /// The most confidential data that may flow into it.
    pub clearance: Option<Confidentiality>,
    /// Whether calling it twice is the same as calling it once.
    pub idempotent: Option<bool>,
    /// Milliseconds, within 100 and 60,000.
    pub timeout_ms: Option<u32>,
    /// False to hide it from everybody.
    pub visible: Option<bool>,
    /// What must be the same when it is executed as when the call was decided.
    pub preconditions: BTreeSet<Precondition>,
    /// The places of its arguments that matter most.
    pub critical_arguments: BTreeSet<Pointer>,
    /// The places of its arguments that name who gets something; without any of them a call goes
    /// nowhere.
    pub sends_to: BTreeSet<Pointer>,
}

/// Who sees which capabilities. Where all three are empty, it speaks of everybody.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Visibility {
    /// Principals, by pattern.
    pub principals: Vec<Pattern>,
    /// Roles, one of which is enough.
    pub roles: BTreeSet<String>,
    /// Agents, by pattern.
    pub agents: Vec<Pattern>,
    /// What they see.
    pub capabilities: Vec<Pattern>,
}

/// The contracts document as a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contracts {
    /// Its name.
    pub id: String,
    /// Its version; a later one is greater.
    pub version: u64,
    /// The time from which the document is void.
    pub expires: Option<Timestamp>,
    /// What is said of each pattern; a pattern without a star is an id.
    pub capabilities: BTreeMap<Pattern, Contract>,
    /// Who sees what; empty for everybody everything.
    pub visible: Vec<Visibility>,
}

impl Contracts {
    /// Contracts of version 1 that say nothing.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            version: 1,
            expires: None,
            capabilities: BTreeMap::new(),
            visible: Vec::new(),
        }
    }

    /// The same with one more contract.
    #[must_use]
    pub fn with(mut self, pattern: Pattern, contract: Contract) -> Self {
        self.capabilities.insert(pattern, contract);
        self
    }
}
