//! One gateway for many clients: a daemon that owns a store, and what its clients reach it through.
//!
//! What a client starts is a [`shim`](run_shim) between its pipes and the daemon's socket. It starts
//! the daemon when there is none, connects again when the daemon was replaced or died, and answers
//! every request with an error when no daemon can be had: it never goes around the gateway.
//!
//! How a start survives races, kills and stale files: the daemon holds an advisory lock for its whole
//! life; only the holder replaces the socket, by renaming one that already listens onto it, so that
//! there is no moment in which a connection is refused; whoever starts it holds another lock, and
//! all others wait for that one. Numbers of processes are for people to read and decide nothing.

mod connection;
mod control;
mod error;
mod folder;
mod hello;
mod inherited_socket;
mod log_rotation;
mod shim;
mod stamp;
mod start;

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener as StdListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use control::{StoreLoan, borrow_store, end, ensure, status};
pub use error::DaemonError;
pub use folder::DaemonFolder;
pub use hello::{ClientToken, DaemonStatus, SessionRequest};
pub use shim::{ShimOptions, run_shim};
pub use start::DaemonCommand;

use crate::config::{self, Config, Http};
use crate::connection_places::ConnectionPlaces;
use crate::http::{self, Clients, HttpGateway};
use crate::serve::{self, Farewell, ServeOptions, Server};
use connection::Daemon;
use stamp::ConfigStamp;

/// The most connections at once.
const MAX_CONNECTIONS: usize = 1024;
/// How long sessions may take to end by themselves.
const DRAIN: Duration = Duration::from_secs(30);
/// How long they may take when a signal asks for the end.
const DRAIN_AT_SIGNAL: Duration = Duration::from_secs(10);
/// How long the ends of calls that were cut off may take to be recorded.
const LAST_WRITES: Duration = Duration::from_secs(5);
/// How often a daemon looks whether it is needed.
const IDLE_LOOK: Duration = Duration::from_secs(1);

/// How a daemon runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct DaemonOptions {
    /// After how long without a client it ends; it does not without a value, nor where it listens
    /// for clients over HTTP.
    pub idle_exit: Option<Duration>,
    /// Where it listens for clients over HTTP, in place of the address of the configuration.
    pub http: Option<SocketAddr>,
}

/// Writes no more to the standard output of whoever started this process, who may wait for its end.
///
/// # Errors
/// [`DaemonError::Connection`], when the null device cannot be opened.
pub fn detach_output() -> Result<(), DaemonError> {
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null");
    let null = null.map_err(DaemonError::connection)?;
    rustix::stdio::dup2_stdout(null).map_err(DaemonError::connection)
}

/// Leaves the session of whoever started this process: its end, or a key on its terminal, does not
/// reach the daemon.
pub fn leave_session() {
    // It fails for the leader of a group, which has no terminal to leave.
    let _ = rustix::process::setsid();
}

/// A store that no other daemon gets while this is there.
#[derive(Debug)]
pub struct StoreClaim {
    folder: DaemonFolder,
    /// The socket that a service manager passed.
    inherited: Option<StdListener>,
    _for_life: File,
}

impl StoreClaim {
    /// Claims a store for a daemon. One that is about to end is waited for.
    ///
    /// # Errors
    /// [`DaemonError`], when another daemon owns the store, or its folder cannot be used.
    pub fn of_store(store: &Path) -> Result<Self, DaemonError> {
        let folder = DaemonFolder::of_store(store);
        folder.prepare()?;
        let inherited = inherited_socket::take(&folder)?;
        let for_life = lock_for_life(&folder, inherited.as_ref())?;
        Ok(Self { folder, inherited, _for_life: for_life })
    }

    /// Whether this is the claim to a store.
    #[must_use]
    pub fn is_of(&self, store: &Path) -> bool {
        self.folder == DaemonFolder::of_store(store)
    }
}

/// Why a daemon has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DaemonEnd {
    /// It was told to end, nobody needed it, or another takes its place.
    Over,
    /// Its configuration is another one now, and nobody but its host opens the next daemon.
    Reconfigured,
}

/// Runs the daemon of a configuration's store until it is told to end, or the configuration is
/// another one. `ready` is called once, when clients can connect.
///
/// # Errors
/// [`DaemonError`], when the gateway cannot be opened, or not at the address for HTTP.
pub fn run(
    config: Config,
    options: ServeOptions,
    daemon: DaemonOptions,
    claim: &StoreClaim,
    ready: impl FnOnce(),
) -> Result<DaemonEnd, DaemonError> {
    let folder = &claim.folder;
    let inherited = claim.inherited.as_ref().map(StdListener::try_clone).transpose();
    let inherited = inherited.map_err(DaemonError::connection)?;
    let runtime = serve::runtime()?;
    let ended = runtime.block_on(async {
        let unsigned_development = options.unsigned_development;
        let (stamp, program) = (ConfigStamp::of(&config), stamp::program());
        let server = Arc::new(Server::open(config, options).await?);
        let is_inherited = inherited.is_some();
        let listener = match inherited {
            Some(listener) => UnixListener::from_std(listener).map_err(DaemonError::connection)?,
            None => listen(folder.socket())?,
        };
        let (end, ending) = mpsc::channel(1);
        let (closing, cut) = (CancellationToken::new(), CancellationToken::new());
        let started = Instant::now();
        let clients = Clients::of_store(&server.config().store);
        let shared = Daemon {
            server,
            unsigned_development,
            started,
            clients,
            config: stamp,
            program,
            http: OnceLock::new(),
            end,
            closing,
            cut,
        };
        let shared = Arc::new(shared);
        let configured = shared.server.config().http.clone();
        let web = match daemon.http {
            // Only the address is another one.
            Some(listen) => Some(Http { listen, ..configured.unwrap_or(Http::at(listen)) }),
            None => configured,
        };
        let idle_exit = daemon.idle_exit.filter(|_| web.is_none());
        if let Some(settings) = web {
            listen_http(&shared, settings).await?;
        }
        ready();
        let own = socket_of(&shared);
        let ending = accept(&shared, &listener, ending, idle_exit).await?;
        let end = ending.end;
        // Whoever comes from here on waits for the next daemon. Where the folder was removed and
        // made again, the socket there is another daemon's; one that was passed is the service
        // manager's, which keeps it and starts the next daemon when somebody connects.
        drop(listener);
        if !is_inherited && own.is_some() && socket_of(&shared) == own {
            let _ = std::fs::remove_file(folder.socket());
        }
        wind_up(shared, ending).await;
        Ok(end)
    });
    runtime.shutdown_timeout(Duration::from_secs(2));
    ended
}

/// Takes the lock of the store's daemon. One that is about to end is waited for; one that takes
/// connections is not. Where the socket is this process's own by inheritance, nobody else takes
/// connections there, and whoever has the lock lost its address and is about to end.
fn lock_for_life(
    folder: &DaemonFolder,
    inherited: Option<&StdListener>,
) -> Result<File, DaemonError> {
    let deadline = Instant::now() + DRAIN + LAST_WRITES;
    loop {
        if let Some(lock) = folder.lock_for_life()? {
            return Ok(lock);
        }
        let taken = inherited.is_none() && UnixStream::connect(folder.socket()).is_ok();
        if taken || Instant::now() >= deadline {
            return Err(DaemonError::Running);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Why a daemon ends, and how long its sessions may take.
struct DrainPlan {
    farewell: Farewell,
    patience: Duration,
    end: DaemonEnd,
}

/// A socket that listens under a name of its own is renamed onto the address, so that no connection
/// is ever refused in between, and what a dead daemon left there is replaced.
fn listen(socket: &Path) -> Result<UnixListener, DaemonError> {
    let failed = |error: &io::Error| DaemonError::folder(socket, error);
    let fresh = socket.with_extension("new");
    match std::fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&error)),
        _ => {}
    }
    let listener = UnixListener::bind(&fresh).map_err(|error| failed(&error))?;
    std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o600))
        .map_err(|error| failed(&error))?;
    std::fs::rename(&fresh, socket).map_err(|error| failed(&error))?;
    Ok(listener)
}

/// Serves clients over HTTP until sessions are cut off.
async fn listen_http(shared: &Arc<Daemon>, settings: Http) -> Result<(), DaemonError> {
    let failed = |error: io::Error| DaemonError::Listen {
        address: settings.listen,
        problem: error.to_string(),
    };
    let listener = TcpListener::bind(settings.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    tracing::info!("clients are served at {scheme}://{address}/mcp");
    let _ = shared.http.set(address);
    let (server, closing) = (Arc::clone(&shared.server), shared.closing.clone());
    let listen = settings.listen;
    let gateway = HttpGateway::new(server, settings, address, closing)
        .map_err(|error| DaemonError::Listen { address: listen, problem: error.to_string() })?;
    tokio::spawn(http::serve(Arc::new(gateway), listener));
    Ok(())
}

/// Takes connections until the daemon is to end.
async fn accept(
    shared: &Arc<Daemon>,
    listener: &UnixListener,
    mut ending: mpsc::Receiver<Farewell>,
    idle_exit: Option<Duration>,
) -> Result<DrainPlan, DaemonError> {
    let mut places = ConnectionPlaces::new(MAX_CONNECTIONS, "the socket");
    let mut terminated = signal(SignalKind::terminate()).map_err(DaemonError::connection)?;
    let mut interrupted = signal(SignalKind::interrupt()).map_err(DaemonError::connection)?;
    let mut idle_since = Instant::now();
    let folder = DaemonFolder::of_store(&shared.server.config().store);
    let mut watch = Watch { socket: socket_of(shared), refused: None };
    // A timer of its own: however often clients come, it is looked.
    let mut look = tokio::time::interval(IDLE_LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut hung_up = signal(SignalKind::hangup()).map_err(DaemonError::connection)?;
    let over = |farewell, patience| Ok(DrainPlan { farewell, patience, end: DaemonEnd::Over });
    // Where a client started it, the next one comes with the next client.
    let reconfigured = match idle_exit {
        Some(_) => DaemonEnd::Over,
        None => DaemonEnd::Reconfigured,
    };
    let for_next = DrainPlan { farewell: Farewell::Restarting, patience: DRAIN, end: reconfigured };
    loop {
        tokio::select! {
            biased;
            _ = terminated.recv() => return over(Farewell::Restarting, DRAIN_AT_SIGNAL),
            _ = interrupted.recv() => return over(Farewell::Restarting, DRAIN_AT_SIGNAL),
            _ = hung_up.recv() => {
                if watch.may_reopen(shared) {
                    tracing::warn!("told to read the configuration again; the daemon begins anew");
                    return Ok(for_next);
                }
            }
            Some(farewell) = ending.recv() => return over(farewell, DRAIN),
            _ = look.tick() => {
                log_rotation::rotate(&folder);
                if shared.server.is_busy() {
                    idle_since = Instant::now();
                }
                if socket_of(shared) != watch.socket {
                    tracing::info!("the socket was removed; the daemon makes way for another");
                    return over(Farewell::Restarting, DRAIN);
                }
                if watch.is_reconfigured(shared) {
                    return Ok(for_next);
                }
                if idle_exit.is_some_and(|idle| idle_since.elapsed() >= idle) {
                    tracing::info!("no client for long; the daemon ends");
                    return over(Farewell::Restarting, DRAIN);
                }
            }
            accepted = listener.accept() => {
                idle_since = Instant::now();
                let Ok((stream, _)) = accepted else {
                    // Too many open files, for instance: the next attempt may succeed.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let Some(place) = places.take() else { continue };
                let shared = Arc::clone(shared);
                tokio::spawn(async move {
                    shared.serve(stream).await;
                    drop(place);
                });
            }
        }
    }
}

/// What a daemon looks at while it waits for connections.
struct Watch {
    /// The socket as it was made.
    socket: Option<(u64, u64)>,
    /// The configuration that was found to be of no use.
    refused: Option<ConfigStamp>,
}

impl Watch {
    /// Whether the configuration is another one, which can be used; the log tells what changed.
    fn is_reconfigured(&mut self, shared: &Daemon) -> bool {
        let stamp = ConfigStamp::of(shared.server.config());
        if stamp == shared.config || self.refused.as_ref() == Some(&stamp) {
            return false;
        }
        let difference = shared.config.difference(&stamp);
        self.refused = Some(stamp);
        let usable = self.may_reopen(shared);
        if usable {
            tracing::warn!("the configuration was changed, the daemon begins anew: {difference}");
        }
        usable
    }

    /// Whether the configuration as it is now can be used; the log tells why not.
    fn may_reopen(&self, shared: &Daemon) -> bool {
        let read = config::load(&shared.server.config().file);
        if let Err(errors) = &read {
            tracing::error!(
                "the changed configuration cannot be used, the old one stays in force: {errors}"
            );
        }
        read.is_ok()
    }
}

/// Which file stands under the address of the daemon.
fn socket_of(shared: &Daemon) -> Option<(u64, u64)> {
    let folder = DaemonFolder::of_store(&shared.server.config().store);
    let about = std::fs::symlink_metadata(folder.socket()).ok()?;
    Some((about.dev(), about.ino()))
}

/// Ends the sessions, then the servers, then the store.
async fn wind_up(shared: Arc<Daemon>, ending: DrainPlan) {
    shared.closing.cancel();
    if !shared.server.drain(ending.farewell, ending.patience).await {
        tracing::warn!("sessions that did not end were cut off");
    }
    shared.cut.cancel();
    shared.server.close().await;
    // What was cut off lost its servers; its ends are recorded.
    shared.server.sessions_over(LAST_WRITES).await;
}
