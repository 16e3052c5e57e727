//! Why there is no daemon to talk to.

use std::io;
use std::path::{Path, PathBuf};

use crate::serve::ServeError;

/// Why there is no daemon to talk to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DaemonError {
    /// A file or folder of the daemon cannot be used.
    #[error("{}: {problem}", path.display())]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The folder is a link, or another user's.
    #[error("{} is not a folder of this user; remove it, or move the store", path.display())]
    NotOwn {
        /// The folder.
        path: PathBuf,
    },
    /// Others can enter the folder.
    #[error("{} has mode {mode:o}, so that others can enter it; `chmod 700` it", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// What a service manager passed is not the socket of the store.
    #[error("{problem}: the service manager has to listen at {}, and nowhere else", socket.display())]
    InheritedSocket {
        /// The socket of the store.
        socket: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Another daemon owns the store.
    #[error("a daemon of this store is running already; `weaver status` shows it")]
    Running,
    /// No daemon runs.
    #[error("no daemon of this store is running; `weaver serve` starts one when a client needs it")]
    NotRunning,
    /// The daemon is about to end, and another takes its place.
    #[error("the daemon is being replaced")]
    MakingWay,
    /// A daemon was started and did not get ready.
    #[error("the daemon could not start: {problem}; its log is {}", log.display())]
    Start {
        /// What it said, or how it ended.
        problem: String,
        /// Its log.
        log: PathBuf,
    },
    /// Clients cannot be served over HTTP there.
    #[error("{address}: {problem}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// What is wrong.
        problem: String,
    },
    /// The daemon refused the connection.
    #[error("the daemon refused: {problem} [{code}]")]
    Refused {
        /// Its code for the reason.
        code: String,
        /// Why, and what to do.
        problem: String,
    },
    /// The connection broke or said something else than it should.
    #[error("the connection to the daemon failed: {problem}")]
    Connection {
        /// What is wrong.
        problem: String,
    },
    /// The configuration cannot be used.
    #[error("{problem}")]
    Configuration {
        /// Its code for the reason.
        code: &'static str,
        /// Everything that is wrong.
        problem: String,
    },
    /// The gateway could not be opened.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

impl DaemonError {
    pub(super) fn folder(path: &Path, error: &io::Error) -> Self {
        Self::Folder { path: path.to_path_buf(), problem: error.to_string() }
    }

    pub(super) fn connection(problem: impl ToString) -> Self {
        Self::Connection { problem: problem.to_string() }
    }

    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Folder { .. } | Self::NotOwn { .. } | Self::Open { .. } => "daemon.folder",
            Self::InheritedSocket { .. } => "daemon.inherited_socket",
            Self::Running => "daemon.running",
            Self::NotRunning => "daemon.not_running",
            Self::MakingWay => "daemon.making_way",
            Self::Start { .. } => "daemon.start",
            Self::Listen { .. } => "daemon.listen",
            Self::Refused { .. } => "daemon.refused",
            Self::Connection { .. } => "daemon.connection",
            Self::Configuration { code, .. } => code,
            Self::Serve(error) => error.code(),
        }
    }
}
