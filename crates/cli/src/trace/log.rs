//! Opens a log for queries, with its index.

use std::path::{Path, PathBuf};

use weaver_trace_store::Reader;
use weaver_trace_store::export::ExportError;
use weaver_trace_store::index::{Index, IndexError};
use weaver_trace_store::query::{CandidateLookup, EventFilter, QueryError};
use weaver_types::{Clock as _, SystemClock};

use super::args::Store;
use super::progress::Progress;
use crate::{Exit, Failure};

/// How many unindexed events are scanned; if there are more, the index is updated first.
const MAX_SCANNED_EVENTS: u64 = 20_000;

/// A log that is open for queries.
pub(super) struct Log {
    pub(super) reader: Reader,
    index: Option<Index>,
    store: PathBuf,
    wants_index: bool,
}

impl Log {
    pub(super) fn open(from: &Store) -> Result<Self, Failure> {
        let reader = super::open_ledger(&from.ledger.store)?;
        let index = if from.no_index { None } else { Index::find(&from.ledger.store, &reader) };
        let store = from.ledger.store.clone();
        Ok(Self { reader, index, store, wants_index: !from.no_index })
    }

    /// The index, if it can propose candidate events.
    pub(super) fn lookup(&self) -> Option<&dyn CandidateLookup> {
        self.index.as_ref().map(|index| index as &dyn CandidateLookup)
    }

    /// Updates the index if enough events are missing that a query would be slower without it. A
    /// failure is ignored: the log is scanned instead.
    pub(super) fn update_index(&mut self) -> Result<(), Failure> {
        if !self.wants_index {
            return Ok(());
        }
        let size = self.reader.head().map_err(|error| Failure::store(&self.store, &error))?.size;
        let known = self.lookup().map_or(0, CandidateLookup::position);
        if size.saturating_sub(known) <= MAX_SCANNED_EVENTS {
            return Ok(());
        }
        if self.index.is_none() {
            self.index = Index::open(&self.store, &self.reader).ok();
        }
        if let Some(index) = &self.index {
            let mut progress = Progress::new("indexed");
            let built = index.catch_up(&self.reader, &mut |done, all| progress.at(done, all));
            progress.end();
            if matches!(built, Err(IndexError::Torn(_))) {
                self.index = None;
            }
        }
        Ok(())
    }

    /// Turns a query error into a failure.
    pub(super) fn failed(&self, error: QueryError) -> Failure {
        failed(&self.store, error)
    }
}

/// Parses the terms of a filter.
pub(super) fn parse_filter(terms: &[String]) -> Result<EventFilter, Failure> {
    let now = SystemClock::default().now();
    EventFilter::parse(terms, now).map_err(|error| failed(Path::new(""), error))
}

pub(super) fn failed(store: &Path, error: QueryError) -> Failure {
    match error {
        QueryError::Read(error) => Failure::store(store, &error),
        error => Failure::new(Exit::Usage, error.code(), error)
            .with_next_step("`weaver trace list --help` shows how terms are written"),
    }
}

/// Turns an export error into a failure.
pub(super) fn export_failure(store: &Path, error: ExportError) -> Failure {
    match error {
        ExportError::Query(error) => failed(store, error),
        ExportError::Write(error) => error.into(),
        error @ ExportError::Form(_) => Failure::new(Exit::Failed, error.code(), error)
            .with_next_step("run `weaver trace verify`"),
        error @ ExportError::Nothing => Failure::new(Exit::NotFound, error.code(), error)
            .with_next_step("`weaver trace list event:run.started` lists the runs"),
        error => Failure::new(Exit::Usage, error.code(), error)
            .with_next_step("`weaver trace export --help` shows an example"),
    }
}
