//! Removes the terms of pruned events from the index.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};
use weaver_types::EventKind;

use super::build::{BLOCK, IndexEntry, add, put_sums, sql};
use super::error::IndexError;
use super::file::{Index, IndexMeta};
use crate::project::LogStats;
use crate::query::{EventFacts, rows_in};
use crate::verify::LogSource;

/// Records which ranges a pruning event removes. Events that are indexed later are read without
/// their pruned payloads anyway.
pub(super) fn note_pruned_ranges(db: &Connection, facts: &EventFacts) -> rusqlite::Result<()> {
    if facts.kind() != Some(EventKind::Pruned) {
        return Ok(());
    }
    let Some(ranges) = facts.list(&["ranges"]) else { return Ok(()) };
    for range in ranges {
        let end = |at: usize| range.get(at).and_then(serde_json::Value::as_u64);
        let (Some(first), Some(last)) = (end(0), end(1)) else { continue };
        let last = last.min(facts.seq);
        if first <= last {
            db.execute(
                "INSERT INTO purge (first, last) VALUES (?1, ?2)
                 ON CONFLICT (first) DO UPDATE SET last = max(last, excluded.last)",
                params![sql(first), sql(last)],
            )?;
        }
    }
    Ok(())
}

/// Whether pruned terms still have to be removed, or the index optimised.
pub(super) fn has_pending_work(db: &Connection) -> rusqlite::Result<bool> {
    db.query_row("SELECT untidy OR EXISTS (SELECT 1 FROM purge) FROM meta", [], |row| {
        row.get::<_, bool>(0)
    })
}

/// Re-indexes one block that contains pruned events. When no such block is left, rewrites the whole
/// index, so that no pruned term remains in free space. False when there is nothing to do.
pub(super) fn step(
    index: &Index,
    source: &dyn LogSource,
    known: &IndexMeta,
) -> Result<bool, IndexError> {
    let failed = |error| index.failed(&error);
    let range = first_pending_range(&index.db()).map_err(failed)?;
    let Some((start, last)) = range else {
        if known.needs_optimize {
            optimize(&mut index.db()).map_err(|error| index.failed(&error))?;
        }
        return Ok(known.needs_optimize);
    };
    let block = start / BLOCK * BLOCK;
    let end = block.saturating_add(BLOCK);
    let rows = rows_in(source, block..end.min(known.position))?;
    let entries: Vec<IndexEntry> = rows.iter().map(IndexEntry::of).collect();
    let mut db = index.db();
    (|| {
        let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if super::file::meta(&change)?.position != known.position {
            return Ok(true);
        }
        add(&change, &entries, "INSERT OR REPLACE INTO facts (rowid, terms) VALUES (?1, ?2)")?;
        let mut sums = LogStats::default();
        entries.iter().for_each(|entry| sums.add(&entry.facts));
        if !entries.is_empty() {
            put_sums(&change, block, &sums)?;
        }
        change.execute("DELETE FROM purge WHERE first = ?1", [sql(start)])?;
        if last >= end && end < known.position {
            change.execute(
                "INSERT INTO purge (first, last) VALUES (?1, ?2)
                 ON CONFLICT (first) DO UPDATE SET last = max(last, excluded.last)",
                params![sql(end), sql(last)],
            )?;
        }
        change.execute("UPDATE meta SET untidy = 1 WHERE one = 1", [])?;
        change.commit()?;
        Ok(true)
    })()
    .map_err(|error| index.failed(&error))
}

fn first_pending_range(db: &Connection) -> rusqlite::Result<Option<(u64, u64)>> {
    let number = |n: i64| u64::try_from(n).unwrap_or_default();
    db.query_row("SELECT first, last FROM purge ORDER BY first LIMIT 1", [], |row| {
        Ok((number(row.get(0)?), number(row.get(1)?)))
    })
    .optional()
}

fn optimize(db: &mut Connection) -> rusqlite::Result<()> {
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    change.execute("INSERT INTO facts (facts) VALUES ('optimize')", [])?;
    change.execute("UPDATE meta SET untidy = 0 WHERE one = 1", [])?;
    change.commit()
}
