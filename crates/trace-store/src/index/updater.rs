//! The thread that keeps an index up to date with its log.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::build::BLOCK;
use super::error::IndexError;
use super::file::{Index, IndexStatus};
use crate::sqlite::Reader;

/// How long it sleeps when it is up to date, so that new events are indexed together: one step per
/// call would cost as much as the call's own commits.
const UPDATE_INTERVAL: Duration = Duration::from_millis(500);
/// So many new events since the last look mean that calls are busy. They have the processors then;
/// the index follows when they pause, or when it is [`MAX_LAG`] events behind.
const BUSY_GROWTH: u64 = BLOCK / 10;
/// A query scans so many events in some 0.2 s.
const MAX_LAG: u64 = 10 * BLOCK;
/// How long it sleeps after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// Keeps the index of a ledger up to date until it is dropped. It reads the ledger like any other
/// reader, so no failure here affects the log. Queries scan whatever is not indexed yet.
#[derive(Debug)]
pub struct IndexUpdater {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl IndexUpdater {
    /// Starts updating the index of the ledger at `ledger`.
    ///
    /// # Errors
    /// [`IndexError::Failed`], when no thread can be started.
    pub fn start(ledger: impl AsRef<Path>) -> Result<Self, IndexError> {
        let ledger = ledger.as_ref().to_owned();
        let (stop, stopped) = channel::<()>();
        let path = ledger.display().to_string();
        let thread = std::thread::Builder::new()
            .name("weaver-index".to_owned())
            .spawn(move || {
                let mut state = UpdaterState::default();
                let mut delay = Duration::ZERO;
                while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(delay) {
                    delay = state.run_step(&ledger).unwrap_or(RETRY_INTERVAL);
                }
            })
            .map_err(|error| IndexError::Failed { path, problem: error.to_string() })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

/// The index, with a reader of its ledger.
struct OpenIndex {
    reader: Reader,
    index: Index,
}

/// The open index, and the size of the log when it was last looked at.
#[derive(Default)]
struct UpdaterState {
    open: Option<OpenIndex>,
    seen_size: u64,
}

impl UpdaterState {
    /// Performs one step; returns how long to sleep, or `None` after a failure.
    fn run_step(&mut self, ledger: &PathBuf) -> Option<Duration> {
        if self.open.is_none() {
            let reader = Reader::open(ledger).ok()?;
            let index = Index::open(ledger, &reader).ok()?;
            self.open = Some(OpenIndex { reader, index });
        }
        let OpenIndex { reader, index } = self.open.as_ref()?;
        let before = self.seen_size;
        let status = match index.status(reader) {
            Ok(status) => {
                self.seen_size = status.size;
                if should_wait(&status, before) {
                    return Some(UPDATE_INTERVAL);
                }
                index.step(reader)
            }
            Err(error) => Err(error),
        };
        match status {
            // An index that was deleted by hand is recreated on the next step.
            Ok(status) if status.position >= status.size => {
                if !Index::path_of(ledger).exists() {
                    self.open = None;
                }
                Some(UPDATE_INTERVAL)
            }
            Ok(_) => Some(Duration::ZERO),
            Err(IndexError::Busy) => Some(UPDATE_INTERVAL),
            Err(_) => {
                self.open = None;
                Some(UPDATE_INTERVAL)
            }
        }
    }
}

/// Whether calls are busy and the index is not far behind. `before` is the size of the log at the
/// last look.
fn should_wait(status: &IndexStatus, before: u64) -> bool {
    status.size.saturating_sub(before) >= BUSY_GROWTH
        && status.size.saturating_sub(status.position) < MAX_LAG
}

impl Drop for IndexUpdater {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // Whatever is not indexed yet is left to the next updater.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::ledger::{Batch, Durability, Ledger as _, NewEvent};
    use weaver_types::{EventKind, Timestamp};

    use super::*;
    use crate::{OpenOptions, SqliteLedger};

    #[test]
    fn it_waits_while_calls_are_busy_until_it_is_far_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let ledger = SqliteLedger::open(&path, OpenOptions::default()).unwrap();
        let event = || NewEvent {
            kind: EventKind::Intent,
            at: Timestamp::from_micros(1),
            run: None,
            call: None,
            payload: b"{}".to_vec().into(),
        };
        let append = |count: u64| {
            let batch = Batch::new(Durability::Os);
            let batch = (0..count).fold(batch, |batch, _| batch.with_event(event()));
            ledger.commit(batch).wait().unwrap();
        };
        let mut state = UpdaterState::default();
        let mut step = || {
            let delay = state.run_step(&path);
            let OpenIndex { reader, index } = state.open.as_ref().unwrap();
            (delay, index.status(reader).unwrap().position)
        };
        append(1);
        assert_eq!(step(), (Some(UPDATE_INTERVAL), 1), "a few events are indexed at once");
        append(BUSY_GROWTH);
        assert_eq!(step(), (Some(UPDATE_INTERVAL), 1), "calls are busy");
        assert_eq!(step(), (Some(UPDATE_INTERVAL), 1 + BUSY_GROWTH), "they pause");
        for _ in 0..MAX_LAG / 500 {
            append(500);
        }
        assert_eq!(step(), (Some(Duration::ZERO), BLOCK), "it is far behind");
        for block in 2..=10 {
            assert_eq!(step(), (Some(Duration::ZERO), block * BLOCK), "the log grows no more");
        }
        assert_eq!(step(), (Some(UPDATE_INTERVAL), MAX_LAG + 1 + BUSY_GROWTH));
    }
}
