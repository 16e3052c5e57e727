//! The log that is asked, with the index beside it.

use std::path::{Path, PathBuf};

use weaver_trace_store::Reader;
use weaver_trace_store::export::ExportError;
use weaver_trace_store::index::{Index, IndexError};
use weaver_trace_store::query::{Filter, Lookup, QueryError};
use weaver_types::{Clock as _, SystemClock};

use super::args::Store;
use super::progress::Progress;
use crate::{Exit, Failure};

/// How many events are scanned rather than taken into the index first.
const SCANNED: u64 = 20_000;

/// A log open for questions.
pub(super) struct Log {
    pub(super) reader: Reader,
    index: Option<Index>,
    store: PathBuf,
    wants_index: bool,
}

impl Log {
    pub(super) fn open(from: &Store) -> Result<Self, Failure> {
        let reader = super::open(&from.store)?;
        let index = if from.no_index { None } else { Index::find(&from.store, &reader) };
        Ok(Self { reader, index, store: from.store.clone(), wants_index: !from.no_index })
    }

    /// What proposes where to look.
    pub(super) fn lookup(&self) -> Option<&dyn Lookup> {
        self.index.as_ref().map(|index| index as &dyn Lookup)
    }

    /// Brings the index up to date, if so much is missing that a question costs less with it. What
    /// cannot be built is no failure: the log is scanned.
    pub(super) fn prepare(&mut self) -> Result<(), Failure> {
        if !self.wants_index {
            return Ok(());
        }
        let size = self.reader.head().map_err(|error| Failure::store(&self.store, &error))?.size;
        let known = self.lookup().map_or(0, Lookup::position);
        if size.saturating_sub(known) <= SCANNED {
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

    /// A failed question, as its user sees it.
    pub(super) fn failed(&self, error: QueryError) -> Failure {
        failed(&self.store, error)
    }
}

/// Reads the terms of a filter.
pub(super) fn filter(terms: &[String]) -> Result<Filter, Failure> {
    let now = SystemClock::default().now();
    Filter::parse(terms, now).map_err(|error| failed(Path::new(""), error))
}

pub(super) fn failed(store: &Path, error: QueryError) -> Failure {
    match error {
        QueryError::Read(error) => Failure::store(store, &error),
        error => Failure::new(Exit::Usage, error.code(), error)
            .next("`weaver trace list --help` shows how terms are written"),
    }
}

/// A failed export, as its user sees it.
pub(super) fn not_exported(store: &Path, error: ExportError) -> Failure {
    match error {
        ExportError::Query(error) => failed(store, error),
        ExportError::Write(error) => error.into(),
        error @ ExportError::Form(_) => {
            Failure::new(Exit::Failed, error.code(), error).next("run `weaver trace verify`")
        }
        error @ ExportError::Nothing => Failure::new(Exit::Unknown, error.code(), error)
            .next("`weaver trace list event:run.started` lists the runs"),
        error => Failure::new(Exit::Usage, error.code(), error)
            .next("`weaver trace export --help` shows an example"),
    }
}
