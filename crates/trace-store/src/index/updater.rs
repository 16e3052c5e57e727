//! The thread that keeps an index up with its log.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::build::BLOCK;
use super::error::IndexError;
use super::file::Index;
use crate::sqlite::Reader;

/// How long it rests when there is little to do. What comes meanwhile is taken in together: a step
/// for each call would cost as much as the call's own commits.
const REST: Duration = Duration::from_millis(500);
/// How long it rests after a failure.
const PAUSE: Duration = Duration::from_secs(10);

/// Keeps the index of a ledger up to date until it is dropped. It reads the ledger like any other
/// reader, so nothing that goes wrong here touches the log; what it has not taken in yet is scanned
/// by whoever asks.
#[derive(Debug)]
pub struct IndexUpdater {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl IndexUpdater {
    /// Begins to keep the index of the ledger at `ledger`.
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
                let mut rest = Duration::ZERO;
                while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(rest) {
                    rest = work(&ledger, &mut open).unwrap_or(PAUSE);
                }
            })
            .map_err(|error| IndexError::Failed { path, problem: error.to_string() })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

/// The index with the ledger that it is of.
struct OpenIndex {
    reader: Reader,
    index: Index,
}

/// One step; gives how long to rest.
fn work(ledger: &PathBuf, open: &mut Option<OpenIndex>) -> Option<Duration> {
    if open.is_none() {
        let reader = Reader::open(ledger).ok()?;
        let index = Index::open(ledger, &reader).ok()?;
        *open = Some(OpenIndex { reader, index });
    }
    let OpenIndex { reader, index } = open.as_ref()?;
    match index.step(reader) {
        // One that was removed by hand is made anew when there is something to take in.
        Ok(status) if status.position >= status.size => {
            if !Index::path_of(ledger).exists() {
                *open = None;
            }
            Some(REST)
        }
        Ok(status) if status.size - status.position < BLOCK => Some(REST),
        Ok(_) => Some(Duration::ZERO),
        Err(IndexError::Busy) => Some(REST),
        Err(_) => {
            *open = None;
            Some(REST)
        }
    }
}

impl Drop for IndexUpdater {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // What it has not taken in, the next one takes in.
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
        assert_eq!(work(&path, &mut open), Some(REST));
        for _ in 0..5 {
            append(500);
        }
        assert_eq!(work(&path, &mut open), Some(Duration::ZERO));
        // 2,501 events, of which 1,000 and then 2,000 are known.
        assert_eq!(work(&path, &mut open), Some(REST));
    }
}
