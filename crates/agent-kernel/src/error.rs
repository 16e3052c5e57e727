//! Errors of setting up: registering, keys, opening. A refused call is no error but a decision.

use weaver_firewall::HandleError;
use weaver_types::ledger::LedgerError;
use weaver_types::{CapabilityId, Digest, RandomError};

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
    /// There is nothing of this id.
    #[error("capability `{id}` is not registered")]
    Unknown {
        /// The id.
        id: CapabilityId,
    },
    /// What was approved is not what is registered by now.
    #[error("capability `{id}` is {found} by now, which is not what was approved; look again")]
    Moved {
        /// The id.
        id: CapabilityId,
        /// The fingerprint of what is live.
        found: Digest,
    },
    /// A namespace gave up too many ids.
    #[error("namespace `{prefix}`: {limit} of its capabilities are gone already; start again")]
    Restless {
        /// The namespace.
        prefix: String,
        /// The bound.
        limit: usize,
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
            Self::Unknown { .. } => "registry.unknown",
            Self::Moved { .. } => "registry.moved",
            Self::Restless { .. } => "registry.restless",
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

/// Why a token could not be handed on with less.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It has not the form of a token of this version.
    #[error("this is no token that this version knows; ask for a new grant")]
    Malformed,
    /// It was handed on too often.
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

impl TokenError {
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
    /// They are not those of a key ring.
    #[error("the token keys cannot be read: {problem}")]
    Malformed {
        /// What is wrong.
        problem: String,
    },
    /// They were written by a newer version.
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
