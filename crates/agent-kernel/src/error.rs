//! Errors of setting up: registering, keys, opening. A refused call is no error but a decision.

use weaver_firewall::HandleError;
use weaver_types::ledger::LedgerError;
use weaver_types::{CapabilityId, RandomError};

/// Why a capability was not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The id is taken.
    #[error("capability `{id}` is registered already; ids are unique")]
    Duplicate {
        /// The id.
        id: CapabilityId,
    },
    /// The id looks like one that is there.
    #[error(
        "capability `{id}` is left out: to the eye it is `{other}`, which is registered already; \
         rename one of them"
    )]
    Confusable {
        /// The id.
        id: CapabilityId,
        /// The one that is registered.
        other: CapabilityId,
    },
    /// A prefix that cannot begin an id.
    #[error("`{prefix}` is no namespace: write visible characters, with single dots between")]
    Prefix {
        /// The prefix, escaped and cut to 80 characters.
        prefix: String,
    },
    /// The namespace has a loader already.
    #[error("namespace `{prefix}` is declared already; one loader makes all of it")]
    NamespaceTaken {
        /// The prefix.
        prefix: String,
    },
    /// There is no such namespace.
    #[error("no namespace `{prefix}`: nothing is registered under it, and it is not declared")]
    UnknownNamespace {
        /// The prefix, escaped and cut to 80 characters.
        prefix: String,
    },
    /// The loader of a namespace failed.
    #[error("namespace `{prefix}` cannot be loaded: {problem}; it is tried again at the next use")]
    Namespace {
        /// The prefix.
        prefix: String,
        /// What the loader said.
        problem: String,
    },
    /// The id lies outside of the set that is replaced.
    #[error("capability `{id}` does not begin with `{prefix}`, under which it is registered")]
    Misplaced {
        /// The id.
        id: CapabilityId,
        /// How it should begin.
        prefix: String,
    },
    /// A schema cannot be used.
    #[error("capability `{id}`: its {which} schema is no usable JSON Schema: {problem}")]
    Schema {
        /// The id.
        id: CapabilityId,
        /// Of which side: `input` or `output`.
        which: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// Too many.
    #[error("the registry is full: {limit} capabilities")]
    Full {
        /// The bound.
        limit: usize,
    },
    /// A thread died while it changed the registry.
    #[error("the registry is unusable: a thread died while it changed it; start again")]
    Poisoned,
}

impl RegistryError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Duplicate { .. } => "registry.duplicate",
            Self::Confusable { .. } => "registry.confusable",
            Self::Prefix { .. } => "registry.prefix",
            Self::NamespaceTaken { .. } => "registry.namespace_taken",
            Self::UnknownNamespace { .. } => "registry.unknown_namespace",
            Self::Namespace { .. } => "registry.namespace",
            Self::Misplaced { .. } => "registry.misplaced",
            Self::Schema { .. } => "registry.schema",
            Self::Full { .. } => "registry.full",
            Self::Poisoned => "registry.poisoned",
        }
    }
}

/// Why a kernel could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The ledger refused.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// No randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The stored results cannot be read or removed.
    #[error(transparent)]
    Handle(#[from] HandleError),
    /// A stored form cannot be read.
    #[error("{what} in the ledger cannot be read: {problem}")]
    Stored {
        /// Which form.
        what: &'static str,
        /// What is wrong.
        problem: String,
    },
}

impl KernelError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Ledger(error) => error.code(),
            Self::Random(_) => "random.failed",
            Self::Handle(error) => error.code(),
            Self::Stored { .. } => "kernel.stored",
        }
    }
}
