//! Contracts: what the operator declares about each capability. This takes precedence over what the
//! server says.

mod contract_resolver;
mod drift;
mod effective_capability;
mod visibility;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weaver_types::{
    AllowedAgents, Confidentiality, Digest, Effects, Integrity, JsonPointer, Precondition,
    RecordIdentity, Rung, SensitivityTag, SinkKind, Timestamp,
};

use crate::pattern::Pattern;

pub(crate) use contract_resolver::ContractResolver;
pub use drift::{Drift, DriftChange, DriftClass};
pub(crate) use effective_capability::apply_contract;
pub(crate) use visibility::{is_visible, may_see_namespace};

/// How a capability compares with the approved one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContractStatus {
    /// It is the approved one, or it is declared by host code and no digest is pinned.
    Approved,
    /// A contract covers it but pins no digest.
    Unpinned,
    /// It comes from a server, and no contract covers it.
    Unknown,
    /// It differs from the approved one.
    Changed {
        /// The approved digest.
        approved: Digest,
        /// The digest that was found: that of the server's description, or the fingerprint if host
        /// code registered a capability under an id that is pinned to a server's.
        found: Digest,
    },
}

/// The declared label of a capability's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct OutputLabel {
    /// How confidential it is.
    pub confidentiality: Option<Confidentiality>,
    /// Whether it is trusted to influence later calls.
    pub integrity: Option<Integrity>,
}

/// What the operator declares about the capabilities that match one pattern. A field that is `None`
/// or empty declares nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Contract {
    /// What it can do.
    pub effects: Option<Effects>,
    /// Its rung.
    pub rung: Option<Rung>,
    /// Whether the rung may be lower than the one that follows from the effects.
    pub lower_rung: bool,
    /// The kind of sink that it is.
    pub sink: Option<SinkKind>,
    /// Kinds of sensitive data in its output, in addition to those declared elsewhere.
    pub sensitivity: BTreeSet<SensitivityTag>,
    /// Kinds of personal data that its results reveal to principals with the role `pii_reader`.
    pub reveal: Option<BTreeSet<String>>,
    /// Kinds of masked values that it may receive although they come from another server.
    pub accepts_masked: Option<BTreeSet<String>>,
    /// Its tags.
    pub tags: Option<BTreeSet<String>>,
    /// The output fields that may be shown.
    pub allowed_fields: Option<BTreeSet<String>>,
    /// The agents that may use it.
    pub agents: Option<AllowedAgents>,
    /// Permissions that its caller must have, in addition to those that host code declares.
    pub permissions: BTreeSet<String>,
    /// The digest of the server's description at the time of approval; only for an exact id.
    pub upstream_digest: Option<Digest>,
    /// The fields that identify records in its output.
    pub records: Option<RecordIdentity>,
    /// The label of its output.
    pub output: OutputLabel,
    /// The most confidential data that may flow into it.
    pub clearance: Option<Confidentiality>,
    /// Whether calling it twice has the same effect as calling it once.
    pub idempotent: Option<bool>,
    /// The timeout in milliseconds, from 100 to 60,000.
    pub timeout_ms: Option<u32>,
    /// `Some(false)` hides it from everybody.
    pub visible: Option<bool>,
    /// Facts that must be the same at execution as at the decision.
    pub preconditions: BTreeSet<Precondition>,
    /// JSON pointers to its critical arguments.
    pub critical_arguments: BTreeSet<JsonPointer>,
    /// JSON pointers to the arguments that name receivers. A call without a value at any of them
    /// sends nothing to anybody.
    pub sends_to: BTreeSet<JsonPointer>,
}

/// Who sees which capabilities. If principals, roles and agents are all empty, the rule is about
/// everybody.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct VisibilityRule {
    /// Principals, by pattern.
    pub principals: Vec<Pattern>,
    /// Roles; one of them suffices.
    pub roles: BTreeSet<String>,
    /// Agents, by pattern.
    pub agents: Vec<Pattern>,
    /// The capabilities that they see.
    pub capabilities: Vec<Pattern>,
}

/// The parsed contracts document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contracts {
    /// The id of the document.
    pub id: String,
    /// The version; newer versions are greater.
    pub version: u64,
    /// The time from which the document is void.
    pub expires: Option<Timestamp>,
    /// The contracts by pattern; a pattern without `*` is an exact id.
    pub capabilities: BTreeMap<Pattern, Contract>,
    /// The visibility rules. If there are none, everybody sees everything.
    pub visible: Vec<VisibilityRule>,
}

impl Contracts {
    /// Version 1, without any contracts.
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

    /// Adds a contract.
    #[must_use]
    pub fn with(mut self, pattern: Pattern, contract: Contract) -> Self {
        self.capabilities.insert(pattern, contract);
        self
    }
}
