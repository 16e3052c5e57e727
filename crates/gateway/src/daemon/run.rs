//! One gateway of the daemon's process, from its opening to its end.

use std::io;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::accept::accept_connections;
use super::connection::Daemon;
use super::end_reason::EndReason;
use super::error::DaemonError;
use super::fingerprint::{self, ConfigFingerprint};
use super::folder::DaemonFolder;
use super::http_listener::HttpListener;
use super::process::{DaemonProcess, ProcessParts};
use super::termination_signals::TerminationSignals;
use super::transport::{SystemTransport, Transport as _};
use super::{DRAIN_TIMEOUT, DaemonEnd, DaemonExitReason, DaemonOptions, FINAL_WRITES_TIMEOUT};
use crate::config::{Config, HttpSettings};
use crate::http::{self, ClientRegistry, HttpGateway};
use crate::serve::{self, ServeOptions, Server};

/// How long sessions may take to end by themselves when a signal requests the end.
const SIGNAL_DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the last answers over HTTP may take to be sent.
const FINAL_SENDS_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs the daemon of a configuration's store until it is told to end or its configuration changes.
/// `ready` is called once clients can connect.
///
/// # Errors
/// [`DaemonError`], if the gateway cannot be opened, or cannot listen at its HTTP address.
pub fn run(
    config: Config,
    options: ServeOptions,
    daemon: DaemonOptions,
    process: &mut DaemonProcess,
    ready: impl FnOnce(),
) -> Result<DaemonEnd, DaemonError> {
    process.claim_store(&config.store_path)?;
    let runtime = serve::runtime()?;
    runtime.block_on(async { process.watch_signals() })?;
    let Some(ProcessParts { claim, http, signals }) = process.parts() else {
        return Err(DaemonError::Running);
    };
    let folder = claim.folder().clone();
    let ended: Result<_, DaemonError> = runtime.block_on(async {
        let unsigned_development = options.unsigned_development;
        let (fingerprint, program) =
            (ConfigFingerprint::from_config(&config), fingerprint::running_program());
        let server = Arc::new(Box::pin(Server::open(config, options)).await?);
        let mut listener = SystemTransport::listen(&folder, claim.inherited())?;
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
            config: Mutex::new(fingerprint),
            config_change: tokio::sync::Mutex::default(),
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
        let reason = accept_connections(&shared, &mut listener, ending, signals).await?;
        // New clients now wait for the next daemon. A passed socket belongs to the service manager,
        // which keeps it and starts the next daemon when a client connects.
        listener.close();
        if matches!(reason, EndReason::Stopped | EndReason::NotNeeded) {
            http.close();
        }
        let config = shared.server.config();
        let drained = Box::pin(drain_sessions(shared, reason, signals));
        // A connection that was accepted could not be left to another program; one in the socket's
        // queue can.
        match reason {
            EndReason::Restarted => drained.await,
            _ => http.keep_connections_during(drained).await,
        }
        // A signal ends the process also while a gateway makes way for the next.
        let reason = if signals.have_been_received().await { EndReason::NotNeeded } else { reason };
        Ok((reason, config))
    });
    runtime.shutdown_timeout(Duration::from_secs(2));
    let (reason, config) = ended?;
    let reason = match reason {
        EndReason::Stopped | EndReason::NotNeeded => DaemonExitReason::Finished,
        EndReason::Reconfigured => DaemonExitReason::Reconfigured,
        // The service manager keeps the socket, and starts the next daemon when somebody connects.
        EndReason::Restarted if claim.has_inherited_socket() => DaemonExitReason::Finished,
        EndReason::Restarted => {
            http.hand_over();
            DaemonExitReason::Restarted
        }
        // The ledger is closed now.
        EndReason::Lent => {
            let loan = http.keep_connections_during(claim.lend(signals));
            match serve::runtime()?.block_on(loan)? {
                true => DaemonExitReason::Reconfigured,
                false => DaemonExitReason::Finished,
            }
        }
    };
    if reason != DaemonExitReason::Reconfigured {
        http.save_sessions(&folder);
    }
    Ok(DaemonEnd { reason, config })
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

/// Ends the sessions, then the servers, then the store.
async fn drain_sessions(shared: Arc<Daemon>, reason: EndReason, signals: &mut TerminationSignals) {
    shared.http_connections.closing.cancel();
    let signal_drain = async {
        signals.received().await;
        tokio::time::sleep(SIGNAL_DRAIN_TIMEOUT).await;
    };
    let have_ended = tokio::select! {
        have_ended = shared.server.drain(reason.farewell(), DRAIN_TIMEOUT) => have_ended,
        () = signal_drain => false,
    };
    if !have_ended {
        tracing::warn!("sessions that did not end were cut off");
    }
    shared.cut_off.cancel();
    shared.server.record_end(reason.text()).await;
    shared.server.close().await;
    // Aborted sessions have lost their servers; wait until their ends are recorded.
    if !shared.server.sessions_over(FINAL_WRITES_TIMEOUT).await {
        shared.server.cut_off_calls(FINAL_SENDS_TIMEOUT).await;
    }
    // The answers are still to be sent.
    shared.http_connections.end(FINAL_SENDS_TIMEOUT).await;
}
