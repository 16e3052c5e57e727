//! Reads, appends and prunes events.

use std::sync::LazyLock;

use rusqlite::types::{ToSql, ValueRef};
use rusqlite::{Connection, Row as SqlRow};
use weaver_types::digest::Digest;
use weaver_types::ledger::{Durability, MAX_PAGE, NewEvent};

use super::error_mapping::{damaged_error, from_sql, to_sql, unsigned_from_sql};
use super::integrity_sums::IntegritySums;
use super::statement::{SqlResult, run};
use crate::log::{AppendedEvent, EventRow, EventRowRef, LogTip};
use crate::merkle::tile::PartialTiles;
use crate::prepare::PayloadCommitment;

pub(super) const EVENTS: &str = "SELECT seq, header, leaf, salt, payload, durability FROM events
    WHERE seq >= ?1 ORDER BY seq LIMIT ?2";
pub(super) const EVENT: &str = "SELECT seq, header, leaf, salt, payload, durability FROM events
    WHERE seq = ?1";
const ADD_EVENT: &str = "INSERT INTO events (seq, header, leaf, salt, payload, durability)
    VALUES (?, ?, ?, ?, ?, ?)";
/// Columns of one event.
const COLUMNS: usize = 6;
/// How many events one statement inserts: most of the cost of a statement is in starting and
/// finishing it.
const TOGETHER: usize = 16;
static ADD_TOGETHER: LazyLock<String> =
    LazyLock::new(|| format!("{ADD_EVENT}{}", ", (?, ?, ?, ?, ?, ?)".repeat(TOGETHER - 1)));
pub(super) const PRUNE: &str = "UPDATE events SET salt = NULL, payload = NULL WHERE seq = ?1";

/// Visits events in the order of their sequence numbers; returns how many there were.
pub(super) fn scan(
    db: &Connection,
    from: u64,
    limit: usize,
    take: &mut dyn FnMut(&EventRowRef<'_>),
) -> SqlResult<usize> {
    let Ok(from) = i64::try_from(from) else { return Ok(0) };
    let limit = i64::try_from(limit.min(MAX_PAGE)).unwrap_or(0);
    let mut statement = db.prepare_cached(EVENTS).map_err(|error| from_sql(&error))?;
    let mut rows = statement.query((from, limit)).map_err(|error| from_sql(&error))?;
    let mut count = 0;
    while let Some(row) = rows.next().map_err(|error| from_sql(&error))? {
        take(&event(row)?);
        count += 1;
    }
    Ok(count)
}

/// As [`scan`], but looks up each event by its own key, as a query for a single event does. It
/// stops at the first missing event. If the very first one is missing, the following events are
/// scanned instead; should that scan find the event after all, the key index is damaged.
pub(super) fn visit(
    db: &Connection,
    from: u64,
    limit: usize,
    take: &mut dyn FnMut(&EventRowRef<'_>),
) -> SqlResult<usize> {
    if i64::try_from(from).is_err() {
        return Ok(0);
    }
    // One snapshot for the whole page: a new one per event would cost more than reading it.
    let db = db.unchecked_transaction().map_err(|error| from_sql(&error))?;
    let mut statement = db.prepare_cached(EVENT).map_err(|error| from_sql(&error))?;
    let mut count = 0;
    while count < limit.min(MAX_PAGE) {
        let seq = to_sql(from.saturating_add(count as u64))?;
        let mut rows = statement.query([seq]).map_err(|error| from_sql(&error))?;
        match rows.next().map_err(|error| from_sql(&error))? {
            Some(row) => take(&event(row)?),
            None => break,
        }
        count += 1;
    }
    if count > 0 {
        return Ok(count);
    }
    let mut first = None;
    let count = scan(&db, from, limit, &mut |row| {
        first.get_or_insert(row.seq);
        take(row);
    })?;
    match first {
        Some(seq) if seq <= from => {
            Err(damaged_error(format!("event {from} is there, but is not found by its number")))
        }
        _ => Ok(count),
    }
}

/// Owned events, as [`scan`] finds them.
pub(super) fn page(db: &Connection, from: u64, limit: usize) -> SqlResult<Vec<EventRow>> {
    let mut rows = Vec::new();
    scan(db, from, limit, &mut |row| rows.push(row.to_row()))?;
    Ok(rows)
}

/// Owned events, each looked up by its own key as in [`visit`].
pub(super) fn each(db: &Connection, from: u64, limit: usize) -> SqlResult<Vec<EventRow>> {
    let mut rows = Vec::new();
    visit(db, from, limit, &mut |row| rows.push(row.to_row()))?;
    Ok(rows)
}

fn event<'a>(row: &'a SqlRow<'_>) -> SqlResult<EventRowRef<'a>> {
    let seq = row.get::<_, i64>(0).map_err(|error| from_sql(&error))?;
    let seq = unsigned_from_sql("the sequence number of an event", seq)?;
    let bad = |what: &str| damaged_error(format!("event {seq} has no readable {what}"));
    let blob = |index, what: &str| match row.get_ref(index) {
        Ok(ValueRef::Blob(bytes)) => Ok(Some(bytes)),
        Ok(ValueRef::Null) => Ok(None),
        _ => Err(bad(what)),
    };
    let leaf = match row.get_ref(2) {
        Ok(ValueRef::Blob(bytes)) => <[u8; 32]>::try_from(bytes).ok(),
        _ => None,
    };
    let durability = match row.get_ref(5) {
        Ok(ValueRef::Integer(0)) => Durability::Os,
        Ok(ValueRef::Integer(1)) => Durability::Disk,
        _ => return Err(bad("durability")),
    };
    Ok(EventRowRef {
        seq,
        header: blob(1, "header")?.ok_or_else(|| bad("header"))?,
        leaf: Digest::from_bytes(leaf.ok_or_else(|| bad("leaf hash"))?),
        salt: blob(3, "salt")?,
        payload: blob(4, "payload")?,
        durability,
    })
}

/// Appends the events of a batch.
pub(super) fn append<'b>(
    db: &Connection,
    tip: &mut LogTip,
    tiles: &mut PartialTiles,
    sums: &mut IntegritySums,
    events: impl ExactSizeIterator<Item = (&'b NewEvent, &'b PayloadCommitment)>,
    durability: Durability,
) -> SqlResult<()> {
    let mut waiting = Vec::with_capacity(events.len().min(TOGETHER));
    let mut complete = |level, place, hash| tiles.put(level, place, hash);
    tip.append(events, &mut complete, &mut |appended| {
        sums.add_event(durability);
        waiting.push(appended);
        if waiting.len() == TOGETHER {
            insert(db, &ADD_TOGETHER, &waiting, durability)?;
            waiting.clear();
        }
        Ok(())
    })?;
    waiting.chunks(1).try_for_each(|one| insert(db, ADD_EVENT, one, durability))
}

/// Inserts as many events as the statement has rows.
fn insert(
    db: &Connection,
    sql: &str,
    events: &[AppendedEvent<'_>],
    durability: Durability,
) -> SqlResult<()> {
    let level = i64::from(durability == Durability::Disk);
    let mut statement = db.prepare_cached(sql).map_err(|error| from_sql(&error))?;
    for (row, appended) in events.iter().enumerate() {
        let seq = to_sql(appended.seq)?;
        let AppendedEvent { header, leaf, salt, payload, .. } = appended;
        let values: [&dyn ToSql; COLUMNS] = [&seq, header, leaf, salt, payload, &level];
        for (column, value) in values.into_iter().enumerate() {
            statement
                .raw_bind_parameter(row * COLUMNS + column + 1, value)
                .map_err(|error| from_sql(&error))?;
        }
    }
    statement.raw_execute().map(drop).map_err(|error| from_sql(&error))
}

/// Removes payloads and salts; returns how many payload bytes were removed.
pub(super) fn prune(db: &Connection, seqs: &[u64]) -> SqlResult<usize> {
    let mut bytes = 0_usize;
    for seq in seqs {
        let seq = to_sql(*seq)?;
        let gone: i64 = db
            .prepare_cached("SELECT coalesce(length(payload), 0) FROM events WHERE seq = ?1")
            .and_then(|mut statement| statement.query_row([seq], |row| row.get(0)))
            .map_err(|error| from_sql(&error))?;
        bytes = bytes.saturating_add(usize::try_from(gone).unwrap_or(0));
        run(db, PRUNE, [seq])?;
    }
    Ok(bytes)
}
