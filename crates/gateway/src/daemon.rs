//! One gateway for many clients: a daemon owns a store, and clients reach it through shims.
//!
//! A client starts a [`shim`](run_shim) between its pipes and the daemon's socket. The shim starts
//! the daemon if there is none, reconnects when the daemon was replaced or has died, and answers
//! every request with an error if no daemon is available: it never bypasses the gateway.
//!
//! Starting survives races, kills and stale files: the daemon holds an advisory lock for its whole
//! life. Only the lock holder replaces the socket, by renaming one that already listens onto its
//! path, so that no connection is ever refused. Whoever starts the daemon holds a second lock, and
//! all others wait for it. Process ids are only informative and decide nothing.

mod config_watch;
mod connection;
mod control;
mod error;
mod fingerprint;
mod folder;
mod hello;
mod http_listener;
mod inherited_socket;
mod log_rotation;
mod shim;
mod start;
mod store_claim;

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use control::{StoreLoan, borrow_store, ensure_running, restart, status, stop};
pub use error::DaemonError;
pub use fingerprint::installed_program;
pub use folder::DaemonFolder;
pub use hello::{ClientToken, DaemonStatus, SessionRequest};
pub use http_listener::HttpListener;
pub use shim::{ShimOptions, run_shim};
pub use start::DaemonCommand;
pub use store_claim::StoreClaim;

use crate::config::{Config, HttpSettings};
use crate::connection_limit::ConnectionLimit;
use crate::http::{self, ClientRegistry, HttpGateway};
use crate::serve::{self, AfterShutdown, ServeOptions, Server};
use config_watch::ConfigWatch;
use connection::{Daemon, EndRequest};
use fingerprint::ConfigFingerprint;

/// The most connections at once.
const MAX_CONNECTIONS: usize = 1024;
/// How long sessions may take to end by themselves.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// The same when a signal requests the end.
const SIGNAL_DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the ends of aborted calls may take to be recorded.
const FINAL_WRITES_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the last answers over HTTP may take to be sent.
const FINAL_SENDS_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a daemon checks whether it is still needed.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

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

/// Detaches standard output from the starting process, which may wait for its end.
///
/// # Errors
/// [`DaemonError::Connection`], if the null device cannot be opened.
pub fn detach_output() -> Result<(), DaemonError> {
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null");
    let null = null.map_err(DaemonError::connection)?;
    rustix::stdio::dup2_stdout(null).map_err(DaemonError::connection)
}

/// Leaves the session of the starting process, so that closing it, or a key on its terminal, does
/// not affect the daemon.
pub fn leave_session() {
    // Fails for a process group leader, which has no terminal to leave.
    let _ = rustix::process::setsid();
}

/// Why a daemon stops serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DrainReason {
    Finished,
    Reconfigured,
    /// The installed program takes its place in its process.
    Restarted,
    /// A command borrows the store.
    Lent,
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

/// Runs the daemon of a configuration's store until it is told to end or its configuration changes.
/// `ready` is called once clients can connect.
///
/// # Errors
/// [`DaemonError`], if the gateway cannot be opened, or cannot listen at its HTTP address.
pub fn run(
    config: Config,
    options: ServeOptions,
    daemon: DaemonOptions,
    claim: &mut StoreClaim,
    http: &mut HttpListener,
    ready: impl FnOnce(),
) -> Result<DaemonExitReason, DaemonError> {
    let folder = claim.folder().clone();
    let inherited = claim.inherited_socket()?;
    let runtime = serve::runtime()?;
    let ended: Result<_, DaemonError> = runtime.block_on(async {
        let unsigned_development = options.unsigned_development;
        let (fingerprint, program) =
            (ConfigFingerprint::from_config(&config), fingerprint::running_program());
        let server = Arc::new(Server::open(config, options).await?);
        let is_inherited = inherited.is_some();
        let listener = match inherited {
            Some(listener) => UnixListener::from_std(listener).map_err(DaemonError::connection)?,
            None => listen(folder.socket())?,
        };
        let (end, ending) = mpsc::channel(1);
        let (http_connections, cut_off) = (Arc::default(), CancellationToken::new());
        let started = Instant::now();
        let clients = ClientRegistry::of_store(&server.config().store_path);
        let configured = server.config().http.clone();
        let http_settings = match daemon.http {
            // Only the address is overridden.
            Some(listen) => {
                Some(HttpSettings { listen, ..configured.unwrap_or(HttpSettings::at(listen)) })
            }
            None => configured,
        };
        let idle_exit = daemon.idle_exit.filter(|_| http_settings.is_none());
        let shared = Daemon {
            server,
            idle_exit,
            unsigned_development,
            started,
            clients,
            config: fingerprint,
            program,
            http_override: daemon.http,
            arguments: daemon.arguments,
            http: OnceLock::new(),
            end,
            http_connections,
            cut_off,
        };
        let shared = Arc::new(shared);
        match http_settings {
            Some(settings) => listen_http(&shared, settings, http)?,
            None => http.close(),
        }
        ready();
        let own_socket = socket_identity(&shared);
        let plan = accept_connections(&shared, &listener, ending).await?;
        let end = plan.end;
        // New clients now wait for the next daemon. If the folder was removed and recreated, the
        // socket in it belongs to another daemon. A passed socket belongs to the service manager,
        // which keeps it and starts the next daemon when a client connects.
        drop(listener);
        if !is_inherited && own_socket.is_some() && socket_identity(&shared) == own_socket {
            let _ = std::fs::remove_file(folder.socket());
        }
        if end == DrainReason::Finished {
            http.close();
        }
        http.keep_connections_during(drain_sessions(shared, plan)).await;
        Ok(end)
    });
    runtime.shutdown_timeout(Duration::from_secs(2));
    let reason = match ended? {
        DrainReason::Finished => DaemonExitReason::Finished,
        DrainReason::Reconfigured => DaemonExitReason::Reconfigured,
        // The service manager keeps the socket, and starts the next daemon when somebody connects.
        DrainReason::Restarted if claim.has_inherited_socket() => DaemonExitReason::Finished,
        DrainReason::Restarted => DaemonExitReason::Restarted,
        // The ledger is closed now.
        DrainReason::Lent => {
            let loan = http.keep_connections_during(claim.lend());
            match serve::runtime()?.block_on(loan)? {
                true => DaemonExitReason::Reconfigured,
                false => DaemonExitReason::Finished,
            }
        }
    };
    if reason != DaemonExitReason::Reconfigured {
        http.save_sessions(&folder);
    }
    Ok(reason)
}

/// Waits between two gateways of one process; clients over HTTP wait too. False if a signal ends the
/// process meanwhile.
///
/// # Errors
/// If signals cannot be watched.
pub fn pause(limit: Duration, http: &HttpListener) -> Result<bool, DaemonError> {
    serve::runtime()?.block_on(async {
        let mut terminated = signal(SignalKind::terminate()).map_err(DaemonError::connection)?;
        let mut interrupted = signal(SignalKind::interrupt()).map_err(DaemonError::connection)?;
        Ok(http
            .keep_connections_during(async {
                tokio::select! {
                    _ = terminated.recv() => false,
                    _ = interrupted.recv() => false,
                    () = tokio::time::sleep(limit) => true,
                }
            })
            .await)
    })
}

/// Why a daemon ends, and how long its sessions may take.
struct DrainPlan {
    farewell: AfterShutdown,
    timeout: Duration,
    end: DrainReason,
}

impl DrainPlan {
    /// Why the daemon ends, as the log says it.
    fn reason(&self) -> &'static str {
        match (self.end, self.farewell) {
            (DrainReason::Lent, _) => "a command borrowed the store",
            (DrainReason::Reconfigured, _) => "restarted with what is on disk",
            (DrainReason::Restarted, _) => "restarted by a command",
            (DrainReason::Finished, AfterShutdown::Stopped) => "stopped by a command",
            (DrainReason::Finished, AfterShutdown::Restarting) => {
                "ended by a signal, or not needed"
            }
        }
    }
}

/// Binds a socket under a temporary name and renames it onto the address, so that no connection is
/// refused in between and a dead daemon's socket is replaced.
fn listen(socket: &Path) -> Result<UnixListener, DaemonError> {
    let failed = |error: &io::Error| DaemonError::folder(socket, error);
    let new_socket = socket.with_extension("new");
    match std::fs::remove_file(&new_socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&error)),
        _ => {}
    }
    let listener = UnixListener::bind(&new_socket).map_err(|error| failed(&error))?;
    std::fs::set_permissions(&new_socket, std::fs::Permissions::from_mode(0o600))
        .map_err(|error| failed(&error))?;
    std::fs::rename(&new_socket, socket).map_err(|error| failed(&error))?;
    Ok(listener)
}

/// Serves clients over HTTP until the daemon closes.
fn listen_http(
    shared: &Arc<Daemon>,
    settings: HttpSettings,
    socket: &mut HttpListener,
) -> Result<(), DaemonError> {
    let failed = |error: io::Error| DaemonError::Listen {
        address: settings.listen,
        problem: error.to_string(),
    };
    let folder = DaemonFolder::of_store(&shared.server.config().store_path);
    let (listener, kept) = socket.listen(settings.listen, &folder).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    tracing::info!("clients are served at {scheme}://{address}/mcp");
    let _ = shared.http.set(address);
    let (server, connections) = (Arc::clone(&shared.server), Arc::clone(&shared.http_connections));
    let listen = settings.listen;
    let sessions = Arc::clone(&socket.sessions);
    let gateway = HttpGateway::new(server, settings, address, connections, sessions)
        .map_err(|error| DaemonError::Listen { address: listen, problem: error.to_string() })?;
    tokio::spawn(http::serve(Arc::new(gateway), listener, kept));
    Ok(())
}

/// Accepts connections until the daemon must end.
async fn accept_connections(
    shared: &Arc<Daemon>,
    listener: &UnixListener,
    mut ending: mpsc::Receiver<EndRequest>,
) -> Result<DrainPlan, DaemonError> {
    let mut connection_limit = ConnectionLimit::new(MAX_CONNECTIONS, "the socket");
    let mut config_watch = ConfigWatch::default();
    let idle_exit = shared.idle_exit;
    let mut terminated = signal(SignalKind::terminate()).map_err(DaemonError::connection)?;
    let mut interrupted = signal(SignalKind::interrupt()).map_err(DaemonError::connection)?;
    let mut idle_since = Instant::now();
    let folder = DaemonFolder::of_store(&shared.server.config().store_path);
    let socket = socket_identity(shared);
    // A separate timer, so that the check also happens while many clients connect.
    let mut idle_check = tokio::time::interval(IDLE_CHECK_INTERVAL);
    idle_check.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut hung_up = signal(SignalKind::hangup()).map_err(DaemonError::connection)?;
    let finished =
        |farewell, timeout| Ok(DrainPlan { farewell, timeout, end: DrainReason::Finished });
    // A client-started daemon is replaced when the next client connects.
    let replaced = |reason| DrainPlan {
        farewell: AfterShutdown::Restarting,
        timeout: DRAIN_TIMEOUT,
        end: if idle_exit.is_some() { DrainReason::Finished } else { reason },
    };
    loop {
        tokio::select! {
            biased;
            _ = terminated.recv() => return finished(AfterShutdown::Restarting, SIGNAL_DRAIN_TIMEOUT),
            _ = interrupted.recv() => return finished(AfterShutdown::Restarting, SIGNAL_DRAIN_TIMEOUT),
            _ = hung_up.recv() => {
                if config_watch::is_usable(shared) {
                    tracing::warn!("told to read the configuration again; the daemon restarts");
                    return Ok(replaced(DrainReason::Reconfigured));
                }
            }
            Some(request) = ending.recv() => return match request {
                EndRequest::End(farewell) => finished(farewell, DRAIN_TIMEOUT),
                EndRequest::Restart => {
                    tracing::warn!("told to restart");
                    Ok(DrainPlan { end: DrainReason::Restarted, ..replaced(DrainReason::Restarted) })
                }
                EndRequest::Reconfigure => Ok(replaced(DrainReason::Reconfigured)),
                EndRequest::Lend => {
                    tracing::info!("a command borrows the store; the daemon returns after it");
                    Ok(replaced(DrainReason::Lent))
                }
            },
            _ = idle_check.tick() => {
                log_rotation::rotate(&folder);
                if shared.server.is_busy() {
                    idle_since = Instant::now();
                }
                if socket_identity(shared) != socket {
                    tracing::info!("the socket was removed; the daemon makes way for another");
                    return finished(AfterShutdown::Restarting, DRAIN_TIMEOUT);
                }
                if config_watch.has_usable_change(shared) {
                    return Ok(replaced(DrainReason::Reconfigured));
                }
                if idle_exit.is_some_and(|idle| idle_since.elapsed() >= idle) {
                    tracing::info!("no client for long; the daemon ends");
                    return finished(AfterShutdown::Restarting, DRAIN_TIMEOUT);
                }
            }
            accepted = listener.accept() => {
                idle_since = Instant::now();
                let Ok((stream, _)) = accepted else {
                    // For example too many open files: the next attempt may succeed.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let Some(permit) = connection_limit.try_acquire() else { continue };
                let shared = Arc::clone(shared);
                tokio::spawn(async move {
                    shared.serve(stream).await;
                    drop(permit);
                });
            }
        }
    }
}

/// The identity of the file at the daemon's address.
fn socket_identity(shared: &Daemon) -> Option<(u64, u64)> {
    let folder = DaemonFolder::of_store(&shared.server.config().store_path);
    let about = std::fs::symlink_metadata(folder.socket()).ok()?;
    Some((about.dev(), about.ino()))
}

/// Ends the sessions, then the servers, then the store.
async fn drain_sessions(shared: Arc<Daemon>, plan: DrainPlan) {
    shared.http_connections.closing.cancel();
    if !shared.server.drain(plan.farewell, plan.timeout).await {
        tracing::warn!("sessions that did not end were cut off");
    }
    shared.cut_off.cancel();
    shared.server.record_end(plan.reason()).await;
    shared.server.close().await;
    // Aborted sessions have lost their servers; wait until their ends are recorded.
    if !shared.server.sessions_over(FINAL_WRITES_TIMEOUT).await {
        shared.server.cut_off_calls(FINAL_SENDS_TIMEOUT).await;
    }
    // The answers are still to be sent.
    shared.http_connections.end(FINAL_SENDS_TIMEOUT).await;
}
