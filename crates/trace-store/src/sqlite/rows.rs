//! Reading and writing single rows.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};
use weaver_types::digest::Digest;
use weaver_types::ledger::{
    BlobId, Durability, LedgerError, MAX_PAGE, Namespace, Record, RecordKey, StoredEvent,
};
use weaver_types::{Tenant, Timestamp};

use super::fault::{damaged, from_number, from_sql, to_sql};
use super::sums::Sums;
use crate::log::{Row, Sealed, Tip};
use crate::merkle::tile::Growing;
use crate::plan::{Kept, Writes};
use crate::prepare::Prepared;

const RECORD: &str = "SELECT version, value, expires_at FROM records
    WHERE tenant = ?1 AND namespace = ?2 AND id = ?3";
const LIST: &str = "SELECT id, version, value FROM records
    WHERE tenant = ?1 AND namespace = ?2 AND id > ?3 ORDER BY id LIMIT ?4";
const LIST_ALL: &str = "SELECT id, version, value FROM records
    WHERE tenant = ?1 AND namespace = ?2 AND id >= ?3 ORDER BY id LIMIT ?4";
const EVENTS: &str = "SELECT seq, header, leaf, salt, payload, durability FROM events
    WHERE seq >= ?1 ORDER BY seq LIMIT ?2";
const EVENT: &str = "SELECT seq, header, leaf, salt, payload, durability FROM events
    WHERE seq = ?1";
const ADD_EVENT: &str = "INSERT INTO events (seq, header, leaf, salt, payload, durability)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const PUT_RECORD: &str = "INSERT INTO records (tenant, namespace, id, version, value, expires_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (tenant, namespace, id) DO UPDATE
    SET version = excluded.version, value = excluded.value, expires_at = excluded.expires_at";
const DELETE_RECORD: &str = "DELETE FROM records WHERE tenant = ?1 AND namespace = ?2 AND id = ?3";
const PRUNE: &str = "UPDATE events SET salt = NULL, payload = NULL WHERE seq = ?1";
const TENANTS: &str = "WITH RECURSIVE seen (tenant) AS (
    SELECT min(tenant) FROM records
    UNION ALL
    SELECT (SELECT min(tenant) FROM records WHERE tenant > seen.tenant) FROM seen
    WHERE seen.tenant IS NOT NULL
) SELECT tenant FROM seen WHERE tenant IS NOT NULL";
const STANDS: &str = "SELECT 1 FROM records WHERE tenant = ?1 AND namespace = ?2 AND id = ?3";
/// The row itself must say that it has expired, not only its entry in the index.
const SWEEP: &str = "DELETE FROM records WHERE (tenant, namespace, id) IN (
    SELECT tenant, namespace, id FROM records
    WHERE expires_at IS NOT NULL AND expires_at < ?1 ORDER BY expires_at LIMIT ?2)
    AND expires_at < ?1 RETURNING tenant, namespace, id, version, value, expires_at";

type Read<T> = Result<T, LedgerError>;

/// One record.
pub(super) fn record(db: &Connection, key: &RecordKey) -> Read<Option<Kept>> {
    let row = (|| {
        db.prepare_cached(RECORD)?
            .query_row((key.tenant.as_str(), key.namespace.as_str(), &key.id), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get::<_, Option<i64>>(2)?))
            })
            .optional()
    })()
    .map_err(|error| from_sql(&error))?;
    row.map(|(version, value, expires_at)| {
        let version = from_number("the version of a record", version)?;
        Ok(Kept { version, value, expires_at: expires_at.map(Timestamp::from_micros) })
    })
    .transpose()
}

/// Records in the order of their ids.
pub(super) fn list(
    db: &Connection,
    (tenant, namespace): (&Tenant, Namespace),
    after: Option<&str>,
    limit: usize,
) -> Read<Vec<(String, Record)>> {
    let sql = if after.is_some() { LIST } else { LIST_ALL };
    let limit = i64::try_from(limit.min(MAX_PAGE)).unwrap_or(0);
    let params = (tenant.as_str(), namespace.as_str(), after.unwrap_or_default(), limit);
    let rows = (|| {
        db.prepare_cached(sql)?
            .query_map(params, |row| Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get(2)?)))?
            .collect::<Result<Vec<_>, _>>()
    })()
    .map_err(|error| from_sql(&error))?;
    rows.into_iter()
        .map(|(id, version, value)| {
            let version = from_number("the version of a record", version)?;
            Ok((id, Record { version, value }))
        })
        .collect()
}

/// Events with their leaf hashes, in the order of their sequence numbers.
pub(super) fn events(db: &Connection, from: u64, limit: usize) -> Read<Vec<Row>> {
    let Ok(from) = i64::try_from(from) else { return Ok(Vec::new()) };
    let limit = i64::try_from(limit.min(MAX_PAGE)).unwrap_or(0);
    let mut statement = db.prepare_cached(EVENTS).map_err(|error| from_sql(&error))?;
    let mut rows = statement.query((from, limit)).map_err(|error| from_sql(&error))?;
    let mut out = Vec::new();
    while let Some(row) = rows.next().map_err(|error| from_sql(&error))? {
        out.push(event(row)?);
    }
    Ok(out)
}

/// The same, each found by its own key, as whoever asks for one event finds it. The first one that
/// is not found ends it, unless it is the first of all: then what comes after it is given, which
/// must not be that very event.
pub(super) fn each_event(db: &Connection, from: u64, limit: usize) -> Read<Vec<Row>> {
    // One snapshot for the page: a new one for each event would cost more than reading it.
    let db = db.unchecked_transaction().map_err(|error| from_sql(&error))?;
    let mut statement = db.prepare_cached(EVENT).map_err(|error| from_sql(&error))?;
    let mut out = Vec::new();
    while out.len() < limit.min(MAX_PAGE) {
        let seq = to_sql(from.saturating_add(out.len() as u64))?;
        let mut rows = statement.query([seq]).map_err(|error| from_sql(&error))?;
        match rows.next().map_err(|error| from_sql(&error))? {
            Some(row) => out.push(event(row)?),
            None => break,
        }
    }
    if !out.is_empty() {
        return Ok(out);
    }
    let later = events(&db, from, limit)?;
    match later.first() {
        Some(row) if row.event.seq <= from => {
            Err(damaged(format!("event {from} is there, but is not found by its number")))
        }
        _ => Ok(later),
    }
}

fn event(row: &SqlRow<'_>) -> Read<Row> {
    let seq = row.get::<_, i64>(0).map_err(|error| from_sql(&error))?;
    let seq = from_number("the sequence number of an event", seq)?;
    let bad = |what: &str| damaged(format!("event {seq} has no readable {what}"));
    let blob = |index, what: &str| match row.get_ref(index) {
        Ok(ValueRef::Blob(bytes)) => Ok(Some(bytes.to_vec())),
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
    Ok(Row {
        event: StoredEvent {
            seq,
            header: blob(1, "header")?.ok_or_else(|| bad("header"))?,
            salt: blob(3, "salt")?,
            payload: blob(4, "payload")?,
            durability,
        },
        leaf: Digest::from_bytes(leaf.ok_or_else(|| bad("leaf hash"))?),
    })
}

/// Appends the events of a batch.
pub(super) fn append(
    db: &Connection,
    (tip, tiles, sums): (&mut Tip, &mut Growing, &mut Sums),
    prepared: &mut Prepared,
    durability: Durability,
) -> Read<()> {
    if prepared.batch.events.is_empty() {
        return Ok(());
    }
    let mut statement = db.prepare_cached(ADD_EVENT).map_err(|error| from_sql(&error))?;
    let level = i64::from(durability == Durability::Disk);
    let mut complete = |level, place, hash| tiles.put(level, place, hash);
    tip.append(prepared, &mut complete, &mut |sealed| {
        let Sealed { seq, header, leaf, salt, payload } = sealed;
        let seq = to_sql(seq)?;
        statement
            .execute((seq, header, leaf, salt, payload, level))
            .map_err(|error| from_sql(&error))?;
        sums.event(durability);
        Ok(())
    })
}

/// One record, kept in `seen`: a second question about it is not one to the file.
pub(super) fn seen(db: &Connection, key: &RecordKey, seen: &mut Writes) -> Read<Option<Kept>> {
    if let Some(kept) = seen.get(key) {
        return Ok(kept.clone());
    }
    let kept = record(db, key)?;
    seen.insert(key.clone(), kept.clone());
    Ok(kept)
}

/// Writes and removes records. `before` shows those that were read since the last write.
pub(super) fn write(
    db: &Connection,
    writes: &Writes,
    before: &Writes,
    sums: &mut Sums,
) -> Read<()> {
    for (key, kept) in writes {
        match before.get(key) {
            Some(before) => sums.record(key, before.as_ref(), kept.as_ref()),
            None => sums.record(key, record(db, key)?.as_ref(), kept.as_ref()),
        }
        let (tenant, namespace) = (key.tenant.as_str(), key.namespace.as_str());
        match kept {
            Some(kept) => {
                let version = to_sql(kept.version)?;
                let expires_at = kept.expires_at.map(Timestamp::micros);
                run(
                    db,
                    PUT_RECORD,
                    params![tenant, namespace, key.id, version, kept.value, expires_at],
                )?;
            }
            None => run(db, DELETE_RECORD, params![tenant, namespace, key.id])?,
        }
    }
    Ok(())
}

/// Removes payloads and salts, and gives the bytes that went.
pub(super) fn prune(db: &Connection, seqs: &[u64]) -> Read<usize> {
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

/// All tenants that have records.
pub(super) fn tenants(db: &Connection) -> Read<Vec<String>> {
    (|| db.prepare_cached(TENANTS)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>())()
        .map_err(|error| from_sql(&error))
}

/// Whether a record stands.
pub(super) fn stands(db: &Connection, tenant: &str, namespace: Namespace, id: &str) -> Read<bool> {
    db.prepare_cached(STANDS)
        .and_then(|mut statement| statement.exists((tenant, namespace.as_str(), id)))
        .map_err(|error| from_sql(&error))
}

/// Forgets at most `limit` records that expired before `now`.
pub(super) fn sweep(db: &Connection, now: Timestamp, limit: usize, sums: &mut Sums) -> Read<()> {
    (|| {
        let mut statement = db.prepare_cached(SWEEP)?;
        let mut gone = statement.query(params![now.micros(), i64::try_from(limit).unwrap_or(0)])?;
        while let Some(row) = gone.next()? {
            sums.forgotten(row)?;
        }
        Ok(())
    })()
    .map_err(|error: rusqlite::Error| from_sql(&error))
}

/// Writes a blob; the same bytes are already there when the name is.
pub(super) fn put_blob(db: &Connection, id: &BlobId, bytes: &[u8], sums: &mut Sums) -> Read<()> {
    let sql = "INSERT INTO blobs (id, bytes) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING";
    if run_counted(db, sql, params![id.0.as_bytes(), bytes])? > 0 {
        sums.blob(id, true);
    }
    Ok(())
}

/// Removes a blob.
pub(super) fn remove_blob(db: &Connection, id: &BlobId, sums: &mut Sums) -> Read<()> {
    if run_counted(db, "DELETE FROM blobs WHERE id = ?1", params![id.0.as_bytes()])? > 0 {
        sums.blob(id, false);
    }
    Ok(())
}

/// Reads a blob.
pub(super) fn blob(db: &Connection, id: &BlobId) -> Read<Option<Vec<u8>>> {
    (|| {
        db.prepare_cached("SELECT bytes FROM blobs WHERE id = ?1")?
            .query_row([id.0.as_bytes()], |row| row.get(0))
            .optional()
    })()
    .map_err(|error| from_sql(&error))
}

/// Runs one statement.
pub(super) fn run(db: &Connection, sql: &str, params: impl rusqlite::Params) -> Read<()> {
    run_counted(db, sql, params).map(drop)
}

/// Runs one statement, and says how many rows it changed.
pub(super) fn run_counted(
    db: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Read<usize> {
    db.prepare_cached(sql)
        .and_then(|mut statement| statement.execute(params))
        .map_err(|error| from_sql(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::litter;
    use crate::sqlite::{schema, tiles};

    #[test]
    fn no_statement_reads_a_whole_table() {
        let db = Connection::open_in_memory().unwrap();
        schema::create(&db, &weaver_types::OsRandom).unwrap();
        let tiles = [tiles::END, tiles::TILE, tiles::TOP, tiles::LAST, tiles::LEAVES];
        litter::Litter::open(&db).unwrap();
        let litter = [litter::CANDIDATES, litter::UNNAME];
        let own = [
            RECORD,
            LIST,
            LIST_ALL,
            EVENT,
            EVENTS,
            DELETE_RECORD,
            SWEEP,
            PRUNE,
            STANDS,
            schema::EXTENT,
        ];
        for sql in own.into_iter().chain(tiles).chain(litter) {
            let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            for index in 1..=statement.parameter_count() {
                statement.raw_bind_parameter(index, 1).unwrap();
            }
            let mut steps = statement.raw_query();
            while let Some(step) = steps.next().unwrap() {
                let step: String = step.get(3).unwrap();
                assert!(!step.contains("SCAN") || step.contains("SCALAR"), "{sql}: {step}");
            }
        }
    }
}
