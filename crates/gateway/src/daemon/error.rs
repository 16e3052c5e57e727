//! Why no daemon can be reached.

use std::io;
use std::path::{Path, PathBuf};

use crate::serve::ServeError;

/// Why no daemon can be reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DaemonError {
    /// A file or folder of the daemon is unusable.
    #[error("{}: {problem}", path.display())]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The folder is a symbolic link, or belongs to another user.
    #[error("{} is not a folder of this user; remove it, or move the store", path.display())]
    ForeignFolder {
        /// The folder.
        path: PathBuf,
    },
    /// Other users can enter the folder.
    #[error("{} has mode {mode:o}, so that others can enter it; `chmod 700` it", path.display())]
    FolderNotPrivate {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The socket passed by a service manager is not the store's.
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
    /// The daemon is being replaced by another one.
    #[error("the daemon is being replaced")]
    MakingWay,
    /// A started daemon did not become ready.
    #[error("the daemon could not start: {problem}; its log is {}", log.display())]
    Start {
        /// Its message, or how it ended.
        problem: String,
        /// Its log.
        log: PathBuf,
    },
    /// It cannot listen for clients over HTTP.
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
        /// The code of the reason.
        code: String,
        /// The reason and the remedy.
        problem: String,
    },
    /// The connection broke or the other side violated the protocol.
    #[error("the connection to the daemon failed: {problem}")]
    Connection {
        /// What is wrong.
        problem: String,
    },
    /// The configuration is invalid.
    #[error("{problem}")]
    Configuration {
        /// The code of the reason.
        code: &'static str,
        /// All problems.
        problem: String,
    },
    /// The configuration is reached through a link that servers could have made or changed.
    #[error("it is reached through the link {}, which was not kept from the servers; if it is yours, restart the gateway", path.display())]
    NewLink {
        /// The link.
        path: PathBuf,
    },
    /// The gateway could not be opened.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

impl DaemonError {
    pub(super) fn folder(path: &Path, error: &io::Error) -> Self {
        Self::Folder { path: path.to_path_buf(), problem: error.to_string() }
    }

    /// The error of a connection that broke before the answer: usually the daemon does not run.
    pub(super) fn connecting(error: io::Error) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound};

        match error.kind() {
            NotFound | ConnectionRefused | ConnectionReset | BrokenPipe => Self::NotRunning,
            _ => Self::connection(error),
        }
    }

    pub(super) fn connection(problem: impl ToString) -> Self {
        Self::Connection { problem: problem.to_string() }
    }

    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Folder { .. } | Self::ForeignFolder { .. } | Self::FolderNotPrivate { .. } => {
                "daemon.folder"
            }
            Self::InheritedSocket { .. } => "daemon.inherited_socket",
            Self::Running => "daemon.running",
            Self::NotRunning => "daemon.not_running",
            Self::MakingWay => "daemon.making_way",
            Self::Start { .. } => "daemon.start",
            Self::Listen { .. } => "daemon.listen",
            Self::Refused { .. } => "daemon.refused",
            Self::Connection { .. } => "daemon.connection",
            Self::Configuration { code, .. } => code,
            Self::NewLink { .. } => "daemon.new_link",
            Self::Serve(error) => error.code(),
        }
    }
}
