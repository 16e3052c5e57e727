//! Building the index in bounded steps behind the log.

use rusqlite::{Connection, TransactionBehavior, params};

use super::error::IndexError;
use super::file::{Index, IndexStatus, meta};
use super::prune;
use crate::log::EventRow;
use crate::project::LogStats;
use crate::query::{EventFacts, index_terms, rows_in};
use crate::verify::LogSource;

/// Events per block; each block has its own sums. A step indexes at most one block.
pub(super) const BLOCK: u64 = 1_000;

/// An event prepared for the index, before the file is locked.
pub(super) struct IndexEntry {
    pub(super) seq: u64,
    pub(super) leaf: Vec<u8>,
    pub(super) terms: String,
    pub(super) facts: EventFacts,
}

impl IndexEntry {
    pub(super) fn of(row: &EventRow) -> Self {
        let facts = EventFacts::from_event(&row.event);
        let terms = index_terms(&facts);
        Self { seq: row.event.seq, leaf: row.leaf.as_bytes().to_vec(), terms, facts }
    }
}

impl Index {
    /// Indexes the next events of the log: at most a thousand.
    ///
    /// # Errors
    /// [`IndexError::Busy`] when another process is doing it, other errors when it fails.
    pub fn step(&self, source: &dyn LogSource) -> Result<IndexStatus, IndexError> {
        let known = meta(&self.db()).map_err(|error| self.failed(&error))?;
        // The size is read before the events: pruning events beyond it are indexed by a later step.
        let size = source.extent()?.head.size;
        if prune::step(self, source, &known)? {
            return Ok(IndexStatus { position: known.position, size });
        }
        let end = ((known.position / BLOCK + 1) * BLOCK).min(size);
        if known.position >= end {
            return Ok(IndexStatus { position: known.position, size });
        }
        let rows = rows_in(source, known.position..end)?;
        let entries: Vec<IndexEntry> = rows.iter().map(IndexEntry::of).collect();
        let position = self.write(known.position, end, &entries, known.began)?;
        Ok(IndexStatus { position, size })
    }

    /// Indexes everything that is in the log now, and reports position and size to `progress`.
    ///
    /// # Errors
    /// As [`Index::step`].
    pub fn catch_up(
        &self,
        source: &dyn LogSource,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<IndexStatus, IndexError> {
        let target = source.extent()?.head.size;
        loop {
            let status = self.step(source)?;
            progress(status.position, target);
            if status.position >= target && !self.has_pending_pruning()? {
                return Ok(status);
            }
        }
    }

    fn has_pending_pruning(&self) -> Result<bool, IndexError> {
        let db = self.db();
        prune::has_pending_work(&db).map_err(|error| self.failed(&error))
    }

    /// Writes a step, unless another process has already written it.
    fn write(
        &self,
        from: u64,
        end: u64,
        entries: &[IndexEntry],
        began: u64,
    ) -> Result<u64, IndexError> {
        let mut db = self.db();
        let written = (|| {
            let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let now = meta(&change)?;
            if now.position != from {
                return Ok(now.position);
            }
            add(&change, entries, "INSERT INTO facts (rowid, terms) VALUES (?1, ?2)")?;
            add_sums(&change, from, entries)?;
            for entry in entries.iter().filter(|entry| entry.seq >= began) {
                prune::note_pruned_ranges(&change, &entry.facts)?;
            }
            let leaf = entries.last().map(|entry| &entry.leaf);
            change.execute(
                "UPDATE meta SET position = ?1, leaf = ?2 WHERE one = 1",
                params![sql(end), leaf],
            )?;
            change.commit()?;
            Ok(end)
        })();
        written.map_err(|error| self.failed(&error))
    }
}

/// Writes the terms of events.
pub(super) fn add(db: &Connection, entries: &[IndexEntry], how: &str) -> rusqlite::Result<()> {
    let mut statement = db.prepare_cached(how)?;
    for entry in entries {
        statement.execute(params![sql(entry.seq), entry.terms])?;
    }
    Ok(())
}

/// Adds events to the sums of their block.
fn add_sums(db: &Connection, from: u64, entries: &[IndexEntry]) -> rusqlite::Result<()> {
    let first = from / BLOCK * BLOCK;
    let mut sums = sums(db, first)?.unwrap_or_default();
    entries.iter().for_each(|entry| sums.add(&entry.facts));
    put_sums(db, first, &sums)
}

pub(super) fn put_sums(db: &Connection, first: u64, sums: &LogStats) -> rusqlite::Result<()> {
    let text = serde_json::to_string(sums)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    db.execute(
        "INSERT OR REPLACE INTO blocks (first, sums) VALUES (?1, ?2)",
        params![sql(first), text],
    )
    .map(drop)
}

/// The sums of a block, as far as it is indexed.
pub(super) fn sums(db: &Connection, first: u64) -> rusqlite::Result<Option<LogStats>> {
    use rusqlite::OptionalExtension as _;
    let text: Option<String> = db
        .prepare_cached("SELECT sums FROM blocks WHERE first = ?1")?
        .query_row([sql(first)], |row| row.get(0))
        .optional()?;
    text.map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// A sequence number as an SQLite integer; the store never has a larger one.
pub(super) fn sql(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}
