//! Why the registry of clients cannot be read or changed.

use std::path::PathBuf;

/// The most clients.
pub(super) const MAX_CLIENTS: usize = 1_000;

/// Why the registry cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientsError {
    /// The file cannot be read or written.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A client of this name exists.
    #[error(
        "there is a client `{0}` already; `weaver clients rotate` gives it another token; or remove it first, or take another name"
    )]
    Taken(String),
    /// No client of this name exists.
    #[error("there is no client `{0}`; `weaver clients list` shows them")]
    Unknown(String),
    /// The name is invalid.
    #[error("`{0}` cannot name a client; use up to 32 of a-z, 0-9, `_` and `-`")]
    Name(String),
    /// The registry is full.
    #[error("there are {MAX_CLIENTS} clients, which is the most; remove some")]
    TooManyClients,
    /// No token could be generated.
    #[error(transparent)]
    Random(#[from] weaver_types::RandomError),
}

impl ClientsError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "clients.file",
            Self::Taken(_) => "clients.taken",
            Self::Unknown(_) => "clients.unknown",
            Self::Name(_) => "clients.name",
            Self::TooManyClients => "clients.too_many",
            Self::Random(_) => "clients.random",
        }
    }
}
