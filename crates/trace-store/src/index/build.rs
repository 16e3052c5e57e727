//! Building: bounded steps behind the log.

use rusqlite::{Connection, TransactionBehavior, params};

use super::error::IndexError;
use super::file::{Index, Status, meta};
use super::prune;
use crate::log::Row;
use crate::project::Stats;
use crate::query::{Facts, postings, rows_of};
use crate::verify::Source;

/// How many events a block has, whose sums are kept. A step takes at most one block.
pub(super) const BLOCK: u64 = 1_000;

/// What a step would write: made before the file is locked.
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) leaf: Vec<u8>,
    pub(super) terms: String,
    pub(super) facts: Facts,
}

impl Entry {
    pub(super) fn of(row: &Row) -> Self {
        let facts = Facts::of(&row.event);
        let terms = postings(&facts);
        Self { seq: row.event.seq, leaf: row.leaf.as_bytes().to_vec(), terms, facts }
    }
}

impl Index {
    /// Takes the next events of the log in: at most a thousand.
    ///
    /// # Errors
    /// [`IndexError::Busy`] when another process does it, [`IndexError`] otherwise.
    pub fn step(&self, source: &dyn Source) -> Result<Status, IndexError> {
        let known = meta(&self.db()).map_err(|error| self.failed(&error))?;
        // The size is read before the events: whatever prunes them is beyond it, or is done.
        let size = source.extent()?.head.size;
        if prune::step(self, source, &known)? {
            return Ok(Status { position: known.position, size });
        }
        let end = ((known.position / BLOCK + 1) * BLOCK).min(size);
        if known.position >= end {
            return Ok(Status { position: known.position, size });
        }
        let rows = rows_of(source, known.position..end)?;
        let entries: Vec<Entry> = rows.iter().map(Entry::of).collect();
        let position = self.write(known.position, end, &entries, known.began)?;
        Ok(Status { position, size })
    }

    /// Takes in everything that is in the log now. `progress` is told the position and the size.
    ///
    /// # Errors
    /// As [`Index::step`].
    pub fn catch_up(
        &self,
        source: &dyn Source,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Status, IndexError> {
        let aim = source.extent()?.head.size;
        loop {
            let status = self.step(source)?;
            progress(status.position, aim);
            if status.position >= aim && !self.has_work()? {
                return Ok(status);
            }
        }
    }

    fn has_work(&self) -> Result<bool, IndexError> {
        let db = self.db();
        prune::waits(&db).map_err(|error| self.failed(&error))
    }

    /// Writes a step, unless somebody else has written it.
    fn write(&self, from: u64, end: u64, entries: &[Entry], began: u64) -> Result<u64, IndexError> {
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
                prune::note(&change, &entry.facts)?;
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
pub(super) fn add(db: &Connection, entries: &[Entry], how: &str) -> rusqlite::Result<()> {
    let mut statement = db.prepare_cached(how)?;
    for entry in entries {
        statement.execute(params![sql(entry.seq), entry.terms])?;
    }
    Ok(())
}

/// Adds events to the sums of their block.
fn add_sums(db: &Connection, from: u64, entries: &[Entry]) -> rusqlite::Result<()> {
    let first = from / BLOCK * BLOCK;
    let mut sums = sums(db, first)?.unwrap_or_default();
    entries.iter().for_each(|entry| sums.add(&entry.facts));
    put_sums(db, first, &sums)
}

pub(super) fn put_sums(db: &Connection, first: u64, sums: &Stats) -> rusqlite::Result<()> {
    let text = serde_json::to_string(sums)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    db.execute(
        "INSERT OR REPLACE INTO blocks (first, sums) VALUES (?1, ?2)",
        params![sql(first), text],
    )
    .map(drop)
}

/// The sums of a block, as far as the index goes.
pub(super) fn sums(db: &Connection, first: u64) -> rusqlite::Result<Option<Stats>> {
    use rusqlite::OptionalExtension as _;
    let text: Option<String> = db
        .prepare_cached("SELECT sums FROM blocks WHERE first = ?1")?
        .query_row([sql(first)], |row| row.get(0))
        .optional()?;
    text.map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// A place as SQLite holds it; the store never has a greater one.
pub(super) fn sql(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}
