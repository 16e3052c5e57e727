//! The errors of a replay.

use weaver_agent_kernel::{KernelError, RegistryError};
use weaver_types::{CapabilityError, IdError, RandomError, RunError};

/// Why a scenario cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A tool's name is not a valid capability id.
    #[error("a tool's name cannot be used: {0}")]
    Name(#[from] IdError),
    /// A tool's capability cannot be built.
    #[error("a tool cannot be offered: {0}")]
    Capability(#[from] CapabilityError),
    /// Two tools have names that could be confused.
    #[error("a tool cannot be registered: {0}")]
    Registry(#[from] RegistryError),
    /// The kernel cannot be opened.
    #[error("the kernel cannot be opened: {0}")]
    Kernel(#[from] KernelError),
    /// A run could not be created.
    #[error("no run can be made: {0}")]
    Run(#[from] RunError),
    /// The random source failed.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// A standing approval was not accepted.
    #[error("the standing approval {name} does not count: {problem}")]
    Standing {
        /// The file it was read from.
        name: String,
        /// Why it was not accepted.
        problem: String,
    },
    /// The ledger on disk cannot be used.
    #[error("the ledger cannot be used: {0}")]
    Ledger(String),
}

impl ReplayError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Name(error) => error.code(),
            Self::Capability(error) => error.code(),
            Self::Registry(error) => error.code(),
            Self::Kernel(error) => error.code(),
            Self::Standing { .. } => "replay.standing",
            Self::Run(_) | Self::Random(_) => "replay.run",
            Self::Ledger(_) => "replay.ledger",
        }
    }
}
