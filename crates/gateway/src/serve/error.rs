//! Errors of opening and running the gateway.

use weaver_agent_kernel::KernelError;
use weaver_firewall::RuleFileError;
use weaver_policy::{IdentityError, LoadError};
use weaver_types::ledger::LedgerError;
use weaver_types::{PrincipalId, RunError};

use crate::config::{ConfigErrors, WordVectorError};

/// Why the gateway cannot serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The signed documents are missing, malformed or not signed by the root key.
    #[error(transparent)]
    Documents(#[from] ConfigErrors),
    /// A document is older than one that was accepted before.
    #[error(transparent)]
    Version(#[from] LoadError),
    /// The policy does not define the principal of the configuration.
    #[error(
        "principal `{id}` is not defined in the policy; add [principals.\"{id}\"] to policy.toml and sign it again"
    )]
    Principal {
        /// The principal.
        id: PrincipalId,
    },
    /// The policy maps a token to no principal.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The configuration has no such profile.
    #[error("there is no profile `{name}` in weaver.toml; {}", known_profiles(known))]
    Profile {
        /// The name, escaped and shortened.
        name: String,
        /// The configured profiles.
        known: Vec<String>,
    },
    /// The store cannot be opened or written.
    #[error(transparent)]
    Store(#[from] LedgerError),
    /// The file of durable memory cannot be opened.
    #[error("the memory file {} cannot be opened: {error}; see `[memory]` in weaver.toml", path.display())]
    Memory {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong.
        error: LedgerError,
    },
    /// The kernel cannot be opened.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The telemetry collector cannot be used.
    #[error("the collector under `[telemetry.otlp]` cannot be used: {0}")]
    Collector(#[from] weaver_drivers::PostError),
    /// The operator's rules of redaction cannot be used.
    #[error("the redaction rules cannot be used: {0}")]
    Redaction(#[from] RuleFileError),
    /// The table of word vectors cannot be used.
    #[error("the table of word vectors cannot be used: {0}")]
    WordTable(#[from] WordVectorError),
    /// One of the operator's own tools cannot be used.
    #[error("the tool `{name}` cannot be used: {problem}")]
    Tool {
        /// Its name.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// A run cannot be started.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The runtime cannot be started.
    #[error("the runtime cannot be started: {problem}")]
    Runtime {
        /// What is wrong.
        problem: String,
    },
    /// A folder of the gateway cannot be created.
    #[error(
        "the folder {} cannot be made: {problem}; see `[store]` and `[memory]` in weaver.toml",
        path.display()
    )]
    Folder {
        /// The folder.
        path: std::path::PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Stdin or stdout failed.
    #[error("stdin or stdout failed: {problem}")]
    Pipe {
        /// What is wrong.
        problem: String,
    },
}

impl ServeError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Documents(_) | Self::Version(_) => "serve.documents",
            Self::Principal { .. } => "serve.principal",
            Self::Identity(error) => error.code(),
            Self::Profile { .. } => "serve.profile",
            Self::Store(error) | Self::Memory { error, .. } => error.code(),
            Self::Kernel(error) => error.code(),
            Self::Tool { .. } => "serve.tool",
            Self::Run(_) => "serve.run",
            Self::Collector(_) => "serve.collector",
            Self::Redaction(error) => error.code(),
            Self::WordTable(error) => error.code(),
            Self::Runtime { .. } => "serve.runtime",
            Self::Folder { .. } => "serve.folder",
            Self::Pipe { .. } => "serve.pipe",
        }
    }
}

fn known_profiles(known: &[String]) -> String {
    match known {
        [] => "write `[profiles.NAME]` there, or leave the name out".to_owned(),
        known => format!("the profiles are {}", known.join(", ")),
    }
}
