//! What the process of a daemon keeps while one gateway of it follows another.

use std::path::Path;
use std::time::Duration;

use super::error::DaemonError;
use super::http_listener::HttpListener;
use super::store_claim::StoreClaim;
use super::termination_signals::TerminationSignals;
use crate::serve;

/// What the process of a daemon keeps from one gateway to the next: its claim on the store, the
/// address of its clients over HTTP, and the signals that end it.
#[derive(Debug, Default)]
pub struct DaemonProcess {
    claim: Option<StoreClaim>,
    http: HttpListener,
    signals: Option<TerminationSignals>,
}

/// The parts of a [`DaemonProcess`] while it has a gateway.
pub(super) struct ProcessParts<'a> {
    pub(super) claim: &'a mut StoreClaim,
    pub(super) http: &'a mut HttpListener,
    pub(super) signals: &'a mut TerminationSignals,
}

impl DaemonProcess {
    /// Claims a store, unless it is claimed already. Must run before the process has other threads,
    /// because it clears environment variables.
    ///
    /// # Errors
    /// [`DaemonError`], if another daemon owns the store, or its folder cannot be used.
    pub(super) fn claim_store(&mut self, store: &Path) -> Result<(), DaemonError> {
        if !self.claim.as_ref().is_some_and(|claim| claim.is_of(store)) {
            // The claim on another store is given up first.
            self.claim = None;
            self.claim = Some(StoreClaim::of_store(store)?);
        }
        Ok(())
    }

    /// Watches the signals, unless it does so already. Needs a runtime.
    ///
    /// # Errors
    /// [`DaemonError::Connection`], if they cannot be watched.
    pub(super) fn watch_signals(&mut self) -> Result<(), DaemonError> {
        if self.signals.is_none() {
            self.signals = Some(TerminationSignals::watch()?);
        }
        Ok(())
    }

    /// Its parts, once the store is claimed and the signals are watched.
    pub(super) fn parts(&mut self) -> Option<ProcessParts<'_>> {
        let Self { claim, http, signals } = self;
        Some(ProcessParts { claim: claim.as_mut()?, http, signals: signals.as_mut()? })
    }

    /// Waits between two gateways; clients over HTTP wait too. False if a signal ends the process.
    ///
    /// # Errors
    /// If there is no runtime to wait with.
    pub fn pause(&mut self, limit: Duration) -> Result<bool, DaemonError> {
        let Self { http, signals, .. } = self;
        let pause = async {
            let Some(signals) = signals else {
                tokio::time::sleep(limit).await;
                return true;
            };
            tokio::select! {
                () = signals.received() => false,
                () = tokio::time::sleep(limit) => true,
            }
        };
        Ok(serve::runtime()?.block_on(http.keep_connections_during(pause)))
    }
}
