//! One gateway for many clients: a daemon owns a store, and clients reach it through shims.
//!
//! A client starts a [`shim`](run_shim) between its pipes and the daemon's address, a socket, or a
//! named pipe on Windows. The shim starts
//! the daemon if there is none, reconnects when the daemon was replaced or has died, and answers
//! every request with an error if no daemon is available: it never bypasses the gateway.
//!
//! Starting survives races, kills and stale files: the daemon holds an advisory lock for its whole
//! life. Only the lock holder replaces the socket, by renaming one that already listens onto its
//! path, so that no connection is ever refused. Whoever starts the daemon holds a second lock, and
//! all others wait for it. Process ids are only informative and decide nothing.

mod accept;
mod config_watch;
mod connection;
mod control;
mod detachment;
#[cfg(any(windows, test))]
mod end_of_input;
mod end_reason;
mod error;
mod fingerprint;
mod folder;
mod handed_over_socket;
mod hello;
mod http_listener;
#[cfg(unix)]
mod inherited_socket;
mod log_rotation;
mod process;
mod run;
mod shim;
mod start;
mod store_claim;
mod termination_signals;
mod transport;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

pub use control::{StoreLoan, borrow_store, ensure_running, restart, status, stop};
pub use detachment::{detach_output, end_servers_with_process, leave_session};
pub use error::DaemonError;
pub use fingerprint::installed_program;
pub use folder::DaemonFolder;
pub use hello::{ClientToken, DaemonStatus, SessionRequest};
pub use process::DaemonProcess;
pub use run::run;
pub use shim::{ShimOptions, run_shim};
pub use start::DaemonCommand;

use crate::config::Config;

/// How long sessions may take to end by themselves.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the ends of aborted calls may take to be recorded.
const FINAL_WRITES_TIMEOUT: Duration = Duration::from_secs(5);

/// Options of a daemon.
#[derive(Debug, Clone, Default)]
pub struct DaemonOptions {
    /// The time without a client after which the daemon ends; `None` means never. Ignored while it
    /// listens for clients over HTTP.
    pub idle_exit: Option<Duration>,
    /// The HTTP address, overriding the configured one.
    pub http: Option<SocketAddr>,
    /// The arguments of the command line, which [`DaemonStatus`] tells to whoever replaces it.
    pub arguments: Vec<String>,
}

/// The end of a daemon.
#[derive(Debug, Clone)]
pub struct DaemonEnd {
    /// Why it has ended.
    pub reason: DaemonExitReason,
    /// The configuration in force: its servers may be others than when it started.
    pub config: Arc<Config>,
}

/// Why a daemon has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DaemonExitReason {
    /// It was stopped, was not needed, or another daemon replaces it.
    Finished,
    /// Its configuration may have changed, and its host must start the next daemon.
    Reconfigured,
    /// Its host must replace its program by the installed one, in the same process.
    Restarted,
}
