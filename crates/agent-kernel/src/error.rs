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
    /// The id lies outside of the set that is replaced.
    #[error("capability `{id}` does not begin with `{prefix}`, under which it is registered")]
    Misplaced {
        /// The id.
        id: CapabilityId,
        /// How it should begin.
        prefix: String,
    },
    /// The input schema cannot be used.
    #[error("capability `{id}`: its input schema is no usable JSON Schema: {problem}")]
    Schema {
        /// The id.
        id: CapabilityId,
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
