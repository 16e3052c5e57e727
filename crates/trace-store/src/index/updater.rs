//! The thread that keeps an index up to date with its log.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::build::BLOCK;
use super::error::IndexError;
use super::file::Index;
use crate::sqlite::Reader;

/// How long it sleeps when it is nearly up to date, so that new events are indexed together: one
/// step per call would cost as much as the call's own commits.
const UPDATE_INTERVAL: Duration = Duration::from_millis(500);
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
                let mut open = None;
                let mut delay = Duration::ZERO;
                while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(delay) {
                    delay = run_step(&ledger, &mut open).unwrap_or(RETRY_INTERVAL);
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

/// Performs one step; returns how long to sleep, or `None` after a failure.
fn run_step(ledger: &PathBuf, open: &mut Option<OpenIndex>) -> Option<Duration> {
    if open.is_none() {
        let reader = Reader::open(ledger).ok()?;
        let index = Index::open(ledger, &reader).ok()?;
        *open = Some(OpenIndex { reader, index });
    }
    let OpenIndex { reader, index } = open.as_ref()?;
    match index.step(reader) {
        // An index that was deleted by hand is recreated on the next step.
        Ok(status) if status.position >= status.size => {
            if !Index::path_of(ledger).exists() {
                *open = None;
            }
            Some(UPDATE_INTERVAL)
        }
        Ok(status) if status.size - status.position < BLOCK => Some(UPDATE_INTERVAL),
        Ok(_) => Some(Duration::ZERO),
        Err(IndexError::Busy) => Some(UPDATE_INTERVAL),
        Err(_) => {
            *open = None;
            Some(UPDATE_INTERVAL)
        }
    }
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
    fn it_hurries_only_while_it_is_a_whole_block_behind() {
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
        let mut open = None;
        append(1);
        assert_eq!(run_step(&path, &mut open), Some(UPDATE_INTERVAL));
        for _ in 0..5 {
            append(500);
        }
        assert_eq!(run_step(&path, &mut open), Some(Duration::ZERO));
        // 2,501 events, of which 1,000 and then 2,000 are known.
        assert_eq!(run_step(&path, &mut open), Some(UPDATE_INTERVAL));
    }
}
