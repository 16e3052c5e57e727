//! Reads and writes rows of records and blobs.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};
use weaver_types::ledger::{BlobId, MAX_PAGE, Namespace, Record, RecordKey};
use weaver_types::{Tenant, Timestamp};

use super::error_mapping::{from_sql, to_sql, unsigned_from_sql};
use super::integrity_sums::IntegritySums;
use super::statement::{SqlResult, run, run_counted};
use crate::plan::{PlannedWrites, RecordLookup, VersionedRecord};

const RECORD: &str = "SELECT version, value, expires_at FROM records
    WHERE tenant = ?1 AND namespace = ?2 AND id = ?3";
const LIST: &str = "SELECT id, version, value FROM records
    WHERE tenant = ?1 AND namespace = ?2 AND id > ?3 ORDER BY id LIMIT ?4";
const LIST_FROM_START: &str = "SELECT id, version, value FROM records
    WHERE tenant = ?1 AND namespace = ?2 AND id >= ?3 ORDER BY id LIMIT ?4";
const PUT_RECORD: &str = "INSERT INTO records (tenant, namespace, id, version, value, expires_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (tenant, namespace, id) DO UPDATE
    SET version = excluded.version, value = excluded.value, expires_at = excluded.expires_at";
const DELETE_RECORD: &str = "DELETE FROM records WHERE tenant = ?1 AND namespace = ?2 AND id = ?3";
const TENANTS: &str = "WITH RECURSIVE seen (tenant) AS (
    SELECT min(tenant) FROM records
    UNION ALL
    SELECT (SELECT min(tenant) FROM records WHERE tenant > seen.tenant) FROM seen
    WHERE seen.tenant IS NOT NULL
) SELECT tenant FROM seen WHERE tenant IS NOT NULL";
const RECORD_EXISTS: &str =
    "SELECT 1 FROM records WHERE tenant = ?1 AND namespace = ?2 AND id = ?3";
/// The row itself must have expired, not only its entry in the index: an index entry can be
/// damaged.
const SWEEP: &str = "DELETE FROM records WHERE (tenant, namespace, id) IN (
    SELECT tenant, namespace, id FROM records
    WHERE expires_at IS NOT NULL AND expires_at < ?1 ORDER BY expires_at LIMIT ?2)
    AND expires_at < ?1 RETURNING tenant, namespace, id, version, value, expires_at";

/// One record.
pub(super) fn record(db: &Connection, key: &RecordKey) -> SqlResult<Option<VersionedRecord>> {
    let row = (|| {
        db.prepare_cached(RECORD)?
            .query_row((key.tenant.as_str(), key.namespace.as_str(), &key.id), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get::<_, Option<i64>>(2)?))
            })
            .optional()
    })()
    .map_err(|error| from_sql(&error))?;
    row.map(|(version, value, expires_at)| {
        let version = unsigned_from_sql("the version of a record", version)?;
        Ok(VersionedRecord { version, value, expires_at: expires_at.map(Timestamp::from_micros) })
    })
    .transpose()
}

/// Records in the order of their ids.
pub(super) fn list(
    db: &Connection,
    tenant: &Tenant,
    namespace: Namespace,
    after: Option<&str>,
    limit: usize,
) -> SqlResult<Vec<(String, Record)>> {
    let sql = if after.is_some() { LIST } else { LIST_FROM_START };
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
            let version = unsigned_from_sql("the version of a record", version)?;
            Ok((id, Record { version, value }))
        })
        .collect()
}

/// A cache of the records as they were before a batch, each read from the file at most once.
pub(super) struct RecordCache<'c> {
    db: &'c Connection,
    records: BTreeMap<RecordKey, Option<VersionedRecord>>,
}

impl<'c> RecordCache<'c> {
    pub(super) fn new(db: &'c Connection) -> Self {
        Self { db, records: BTreeMap::new() }
    }
}

impl RecordLookup for RecordCache<'_> {
    fn record(&mut self, key: &RecordKey) -> SqlResult<Option<&VersionedRecord>> {
        if !self.records.contains_key(key) {
            self.records.insert(key.clone(), record(self.db, key)?);
        }
        Ok(self.records.get(key).and_then(Option::as_ref))
    }
}

/// Writes and deletes records. `cache` has those that were read for the plan.
pub(super) fn write(
    db: &Connection,
    writes: &PlannedWrites<'_>,
    cache: &RecordCache<'_>,
    sums: &mut IntegritySums,
) -> SqlResult<()> {
    for (key, record_after) in writes {
        match cache.records.get(key) {
            Some(before) => sums.replace_record(key, before.as_ref(), record_after.as_ref()),
            None => sums.replace_record(key, record(db, key)?.as_ref(), record_after.as_ref()),
        }
        let (tenant, namespace) = (key.tenant.as_str(), key.namespace.as_str());
        match record_after {
            Some(record) => {
                let version = to_sql(record.version)?;
                let expires_at = record.expires_at.map(Timestamp::micros);
                run(
                    db,
                    PUT_RECORD,
                    params![tenant, namespace, key.id, version, record.value, expires_at],
                )?;
            }
            None => run(db, DELETE_RECORD, params![tenant, namespace, key.id])?,
        }
    }
    Ok(())
}

/// All tenants that have records. A recursive query seeks from tenant to tenant, so that it does
/// not scan the table.
pub(super) fn tenants(db: &Connection) -> SqlResult<Vec<String>> {
    (|| db.prepare_cached(TENANTS)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>())()
        .map_err(|error| from_sql(&error))
}

/// Whether a record exists.
pub(super) fn record_exists(
    db: &Connection,
    tenant: &str,
    namespace: Namespace,
    id: &str,
) -> SqlResult<bool> {
    db.prepare_cached(RECORD_EXISTS)
        .and_then(|mut statement| statement.exists((tenant, namespace.as_str(), id)))
        .map_err(|error| from_sql(&error))
}

/// Deletes at most `limit` records that expired before `now`.
pub(super) fn sweep(
    db: &Connection,
    now: Timestamp,
    limit: usize,
    sums: &mut IntegritySums,
) -> SqlResult<()> {
    (|| {
        let mut statement = db.prepare_cached(SWEEP)?;
        let mut expired =
            statement.query(params![now.micros(), i64::try_from(limit).unwrap_or(0)])?;
        while let Some(row) = expired.next()? {
            sums.remove_record_row(row)?;
        }
        Ok(())
    })()
    .map_err(|error: rusqlite::Error| from_sql(&error))
}

/// Writes a blob; if the name exists, the bytes are already there.
pub(super) fn put_blob(
    db: &Connection,
    id: &BlobId,
    bytes: &[u8],
    sums: &mut IntegritySums,
) -> SqlResult<()> {
    let sql = "INSERT INTO blobs (id, bytes) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING";
    if run_counted(db, sql, params![id.0.as_bytes(), bytes])? > 0 {
        sums.add_blob(id);
    }
    Ok(())
}

/// Removes a blob.
pub(super) fn remove_blob(db: &Connection, id: &BlobId, sums: &mut IntegritySums) -> SqlResult<()> {
    if run_counted(db, "DELETE FROM blobs WHERE id = ?1", params![id.0.as_bytes()])? > 0 {
        sums.remove_blob(id);
    }
    Ok(())
}

/// Reads a blob.
pub(super) fn blob(db: &Connection, id: &BlobId) -> SqlResult<Option<Vec<u8>>> {
    (|| {
        db.prepare_cached("SELECT bytes FROM blobs WHERE id = ?1")?
            .query_row([id.0.as_bytes()], |row| row.get(0))
            .optional()
    })()
    .map_err(|error| from_sql(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::orphaned_blobs;
    use crate::sqlite::{events, schema, tiles};

    #[test]
    fn no_statement_reads_a_whole_table() {
        let db = Connection::open_in_memory().unwrap();
        schema::create(&db, &weaver_types::OsRandom).unwrap();
        let tiles = [tiles::END, tiles::TILE, tiles::TOP, tiles::LEAVES];
        let orphans = [orphaned_blobs::CANDIDATES, orphaned_blobs::UNNAME];
        let own = [
            RECORD,
            LIST,
            LIST_FROM_START,
            events::EVENT,
            events::EVENTS,
            DELETE_RECORD,
            SWEEP,
            events::PRUNE,
            RECORD_EXISTS,
            schema::EXTENT,
        ];
        for sql in own.into_iter().chain(tiles).chain(orphans) {
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
