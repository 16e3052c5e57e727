//! The daemon's address: who connects to it, and when the daemon stops accepting.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::config_watch::{self, ConfigWatch};
use super::connection::Daemon;
use super::end_reason::EndReason;
use super::error::DaemonError;
use super::folder::DaemonFolder;
use super::log_rotation;
use super::termination_signals::{HangUpSignal, TerminationSignals};
use super::transport::{SystemTransport, Transport as _};
use crate::connection_limit::ConnectionLimit;

/// The most connections at once.
const MAX_CONNECTIONS: usize = 1024;
/// How often a daemon checks whether it is still needed.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Accepts connections until the daemon must end.
pub(super) async fn accept_connections(
    shared: &Arc<Daemon>,
    listener: &mut SystemTransport,
    mut ending: mpsc::Receiver<EndReason>,
    signals: &mut TerminationSignals,
) -> Result<EndReason, DaemonError> {
    let mut connection_limit = ConnectionLimit::new(MAX_CONNECTIONS, "the daemon's address");
    let mut config_watch = ConfigWatch::default();
    let idle_exit = shared.idle_exit;
    let mut idle_since = Instant::now();
    let folder = DaemonFolder::of_store(&shared.server.config().store_path);
    // A separate timer, so that the check also happens while many clients connect.
    let mut idle_check = tokio::time::interval(IDLE_CHECK_INTERVAL);
    idle_check.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut hang_up = HangUpSignal::watch()?;
    // A client-started daemon is replaced when the next client connects.
    let replaced = |reason| if idle_exit.is_some() { EndReason::NotNeeded } else { reason };
    loop {
        tokio::select! {
            biased;
            () = signals.received() => return Ok(EndReason::NotNeeded),
            () = hang_up.received() => {
                if config_watch::is_usable(shared) {
                    tracing::warn!("told to read the configuration again; the daemon restarts");
                    return Ok(replaced(EndReason::Reconfigured));
                }
            }
            Some(reason) = ending.recv() => return Ok(match reason {
                EndReason::Restarted => {
                    tracing::warn!("told to restart");
                    reason
                }
                EndReason::Lent => {
                    tracing::info!("a command borrows the store; the daemon returns after it");
                    replaced(reason)
                }
                EndReason::Reconfigured => replaced(reason),
                EndReason::Stopped | EndReason::NotNeeded => reason,
            }),
            _ = idle_check.tick() => {
                log_rotation::rotate(&folder);
                if shared.server.is_busy() {
                    idle_since = Instant::now();
                }
                if !listener.is_reachable() {
                    tracing::info!("the socket was removed; the daemon makes way for another");
                    return Ok(EndReason::NotNeeded);
                }
                if config_watch.needs_restart(shared).await {
                    return Ok(replaced(EndReason::Reconfigured));
                }
                if idle_exit.is_some_and(|idle| idle_since.elapsed() >= idle) {
                    tracing::info!("no client for long; the daemon ends");
                    return Ok(EndReason::NotNeeded);
                }
            }
            accepted = listener.accept() => {
                idle_since = Instant::now();
                let Ok(stream) = accepted else {
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
