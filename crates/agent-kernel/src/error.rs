//! Errors of setting up: registration, keys, opening. A refused call is not an error but a
//! decision.

use weaver_firewall::HandleError;
use weaver_types::ledger::LedgerError;
use weaver_types::{CapabilityId, Digest, RandomError};

use crate::run_fault::RunFault;

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
    /// The id looks like one that is registered.
    #[error(
        "capability `{id}` is left out: it looks like `{other}`, which is registered already; \
         rename one of them"
    )]
    Confusable {
        /// The id.
        id: CapabilityId,
        /// The one that is registered.
        other: CapabilityId,
    },
    /// The text cannot name a namespace.
    #[error("`{namespace}` is not a namespace: write visible characters, separated by single dots")]
    InvalidNamespace {
        /// The text, escaped and cut to 80 characters.
        namespace: String,
    },
    /// The namespace has a loader already.
    #[error("namespace `{namespace}` is declared already; one loader makes all of it")]
    NamespaceTaken {
        /// The namespace, without a dot at its end.
        namespace: String,
    },
    /// There is no such namespace.
    #[error("no namespace `{namespace}`: nothing is registered under it, and it is not declared")]
    UnknownNamespace {
        /// The text, escaped and cut to 80 characters.
        namespace: String,
    },
    /// The loader of a namespace failed.
    #[error(
        "namespace `{namespace}` cannot be loaded: {problem}; it is tried again at the next use"
    )]
    LoaderFailed {
        /// The namespace, without a dot at its end.
        namespace: String,
        /// What the loader said.
        problem: String,
    },
    /// The id does not begin with the prefix under which it is registered.
    #[error("capability `{id}` does not begin with `{prefix}`, under which it is registered")]
    OutsidePrefix {
        /// The id.
        id: CapabilityId,
        /// How it should begin, with the dot that ends a namespace.
        prefix: String,
    },
    /// A schema cannot be used.
    #[error("capability `{id}`: its {which} schema is not a usable JSON Schema: {problem}")]
    Schema {
        /// The id.
        id: CapabilityId,
        /// Which schema: `input` or `output`.
        which: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// Nothing is registered under this id.
    #[error("capability `{id}` is not registered")]
    Unknown {
        /// The id.
        id: CapabilityId,
    },
    /// The approved version is not the one that is registered now.
    #[error("capability `{id}` is now {live}, which is not what was approved; look again")]
    VersionChanged {
        /// The id.
        id: CapabilityId,
        /// The fingerprint of what is live.
        live: Digest,
    },
    /// A namespace has removed too many ids.
    #[error(
        "namespace `{namespace}`: {limit} of its capabilities were removed already; start again"
    )]
    TooManyRemoved {
        /// The namespace.
        namespace: String,
        /// The bound.
        limit: usize,
    },
    /// Too many.
    #[error("the registry is full: {limit} capabilities")]
    Full {
        /// The bound.
        limit: usize,
    },
    /// A thread panicked while it changed the registry.
    #[error("internal error: the lock of the registry is poisoned; start again")]
    Poisoned,
}

impl RegistryError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Duplicate { .. } => "registry.duplicate",
            Self::Confusable { .. } => "registry.confusable",
            Self::InvalidNamespace { .. } => "registry.prefix",
            Self::NamespaceTaken { .. } => "registry.namespace_taken",
            Self::UnknownNamespace { .. } => "registry.unknown_namespace",
            Self::LoaderFailed { .. } => "registry.namespace",
            Self::OutsidePrefix { .. } => "registry.misplaced",
            Self::Schema { .. } => "registry.schema",
            Self::Unknown { .. } => "registry.unknown",
            Self::VersionChanged { .. } => "registry.moved",
            Self::TooManyRemoved { .. } => "registry.restless",
            Self::Full { .. } => "registry.full",
            Self::Poisoned => "registry.poisoned",
        }
    }
}

/// Why a kernel could not be opened, or an operation could not be recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The ledger failed or refused.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// No randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The stored results cannot be read or removed.
    #[error(transparent)]
    Handle(#[from] HandleError),
    /// A record cannot be read or written.
    #[error("{what} in the ledger cannot be read: {problem}")]
    StoredRecord {
        /// Which form.
        what: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// The record of a run is not accepted: it was compared with the log.
    #[error("a run in the ledger cannot be read: {problem}")]
    UnprovenRun {
        /// Why it is not accepted.
        fault: RunFault,
        /// The same in a sentence, with what to do.
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
            Self::StoredRecord { .. } | Self::UnprovenRun { .. } => "kernel.stored",
        }
    }
}

/// Why a token could not be attenuated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttenuationError {
    /// It is not a token of this version.
    #[error("this is not a token that this version knows; ask for a new grant")]
    Malformed,
    /// It was attenuated too often.
    #[error("the token has {limit} caveats already; hand on one nearer to the root")]
    Depth {
        /// The bound.
        limit: usize,
    },
    /// It would be too long.
    #[error("the token would be longer than {limit} bytes")]
    TooLarge {
        /// The bound.
        limit: usize,
    },
    /// The arguments have no canonical bytes.
    #[error("the arguments of a caveat have no canonical form: {0}")]
    Arguments(String),
}

impl AttenuationError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed => "token.malformed",
            Self::Depth { .. } => "token.depth",
            Self::TooLarge { .. } => "token.too_large",
            Self::Arguments(_) => "token.arguments",
        }
    }
}

/// Why the bytes of a key ring could not be read. It never quotes a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyRingError {
    /// The bytes are not a key ring.
    #[error("the token keys cannot be read: {problem}")]
    Malformed {
        /// What is wrong.
        problem: String,
    },
    /// The bytes were written by a newer version.
    #[error("the token keys have form {found}; this version reads up to {known}")]
    Newer {
        /// The version found.
        found: u64,
        /// The newest version that is read.
        known: u64,
    },
}

impl KeyRingError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "token_keys.malformed",
            Self::Newer { .. } => "token_keys.newer",
        }
    }
}
