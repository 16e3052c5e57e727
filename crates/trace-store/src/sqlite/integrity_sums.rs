//! Sums over the tables beside the log, which detect a damaged record, a lost blob or a changed
//! durability. They are not a proof: whoever can write the file can correct them.
//!
//! A sum is an additive multiset hash in the manner of MSet-Add-Hash (Clarke et al., *Incremental
//! Multiset Hash Functions*, 2003): the SHA-256 hashes of all rows, added in four lanes of 64 bits.
//! A row that is added, removed or changed costs one or two hashes, however many rows there are,
//! and order does not matter.

use rusqlite::{Connection, Row as SqlRow};
use sha2::{Digest as _, Sha256};
use weaver_types::Timestamp;
use weaver_types::ledger::{BlobId, Durability, LedgerError, RecordKey};

use super::error_mapping::{damaged_error, from_sql, to_sql, unsigned_from_sql};
use super::statement::run;
use crate::plan::VersionedRecord;
use crate::verify::SideTable;

const ALL_RECORDS: &str = "SELECT tenant, namespace, id, version, value, expires_at FROM records";

/// A sum of hashes that does not depend on their order, so that one can be subtracted again: four
/// numbers modulo 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MultisetHash([u64; 4]);

impl MultisetHash {
    fn add(&mut self, hash: &[u8; 32]) {
        self.combine(hash, u64::wrapping_add);
    }

    fn subtract(&mut self, hash: &[u8; 32]) {
        self.combine(hash, u64::wrapping_sub);
    }

    fn combine(&mut self, hash: &[u8; 32], step: fn(u64, u64) -> u64) {
        for (sum, part) in self.0.iter_mut().zip(hash.as_chunks::<8>().0) {
            *sum = step(*sum, u64::from_be_bytes(*part));
        }
    }

    fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (place, part) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.0) {
            *place = part.to_be_bytes();
        }
        bytes
    }

    fn from_bytes(what: &str, bytes: &[u8]) -> Result<Self, LedgerError> {
        match bytes.as_chunks::<8>() {
            ([a, b, c, d], []) => Ok(Self([a, b, c, d].map(|part| u64::from_be_bytes(*part)))),
            _ => Err(damaged_error(format!("the sum over the {what} has not 32 bytes"))),
        }
    }
}

/// The sums as stored in `meta`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct IntegritySums {
    /// Events that were synced when they were acknowledged.
    synced: u64,
    records: MultisetHash,
    blobs: MultisetHash,
}

impl IntegritySums {
    pub(super) fn load(db: &Connection) -> Result<Self, LedgerError> {
        let sql = "SELECT synced, records, blobs FROM meta WHERE one = 1";
        let read = |row: &SqlRow<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let (synced, records, blobs): (i64, Vec<u8>, Vec<u8>) =
            db.query_row(sql, [], read).map_err(|error| from_sql(&error))?;
        Ok(Self {
            synced: unsigned_from_sql("the number of synced events", synced)?,
            records: MultisetHash::from_bytes("records", &records)?,
            blobs: MultisetHash::from_bytes("blobs", &blobs)?,
        })
    }

    pub(super) fn save(&self, db: &Connection) -> Result<(), LedgerError> {
        let sql = "UPDATE meta SET synced = ?1, records = ?2, blobs = ?3 WHERE one = 1";
        run(db, sql, self.columns()?)
    }

    /// The columns `synced`, `records` and `blobs` of `meta`.
    pub(super) fn columns(&self) -> Result<(i64, [u8; 32], [u8; 32]), LedgerError> {
        Ok((to_sql(self.synced)?, self.records.to_bytes(), self.blobs.to_bytes()))
    }

    /// Counts an event of this durability.
    pub(super) fn add_event(&mut self, durability: Durability) {
        self.synced += u64::from(durability == Durability::Disk);
    }

    /// Replaces a record, or adds or removes one.
    pub(super) fn replace_record(
        &mut self,
        key: &RecordKey,
        before: Option<&VersionedRecord>,
        after: Option<&VersionedRecord>,
    ) {
        let hash = |kept: &VersionedRecord| {
            let names = [key.tenant.as_str(), key.namespace.as_str(), &key.id];
            let version = i64::try_from(kept.version).unwrap_or(i64::MAX);
            record_hash(names, version, &kept.value, kept.expires_at)
        };
        if let Some(before) = before {
            self.records.subtract(&hash(before));
        }
        if let Some(after) = after {
            self.records.add(&hash(after));
        }
    }

    /// Removes an expired record, given as its row.
    pub(super) fn remove_record_row(&mut self, row: &SqlRow<'_>) -> rusqlite::Result<()> {
        self.records.subtract(&row_hash(row)?);
        Ok(())
    }

    pub(super) fn add_blob(&mut self, id: &BlobId) {
        self.blobs.add(id.0.as_bytes());
    }

    pub(super) fn remove_blob(&mut self, id: &BlobId) {
        self.blobs.subtract(id.0.as_bytes());
    }

    /// Removes a swept blob, given the bytes of its id.
    pub(super) fn remove_blob_by_id_bytes(&mut self, id: &[u8]) -> Result<(), LedgerError> {
        let id = id.try_into().map_err(|_| damaged_error("the name of a blob has not 32 bytes"))?;
        self.blobs.subtract(&id);
        Ok(())
    }

    /// The first table whose rows do not match these sums.
    pub(super) fn first_mismatch(&self, db: &Connection) -> Result<Option<SideTable>, LedgerError> {
        if records_sum(db)? != self.records {
            return Ok(Some(SideTable::Records));
        }
        Ok((blobs_sum(db)? != self.blobs).then_some(SideTable::Blobs))
    }
}

/// The first table that does not match its stored sum, in one snapshot.
pub(super) fn mismatched_table(db: &Connection) -> Result<Option<SideTable>, LedgerError> {
    let snapshot = db.unchecked_transaction().map_err(|error| from_sql(&error))?;
    IntegritySums::load(&snapshot)?.first_mismatch(&snapshot)
}

fn records_sum(db: &Connection) -> Result<MultisetHash, LedgerError> {
    let mut sum = MultisetHash::default();
    for_each_row(db, ALL_RECORDS, &mut |row| {
        sum.add(&row_hash(row)?);
        Ok(())
    })?;
    Ok(sum)
}

/// The sum over the names only: whoever reads a blob checks its content against its name.
fn blobs_sum(db: &Connection) -> Result<MultisetHash, LedgerError> {
    let mut sum = MultisetHash::default();
    for_each_row(db, "SELECT id FROM blobs", &mut |row| {
        sum.add(&row.get(0)?);
        Ok(())
    })?;
    Ok(sum)
}

fn for_each_row(
    db: &Connection,
    sql: &str,
    take: &mut dyn FnMut(&SqlRow<'_>) -> rusqlite::Result<()>,
) -> Result<(), LedgerError> {
    (|| {
        let mut statement = db.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            take(row)?;
        }
        Ok(())
    })()
    .map_err(|error: rusqlite::Error| from_sql(&error))
}

/// The hash of a row with the columns of [`ALL_RECORDS`].
fn row_hash(row: &SqlRow<'_>) -> rusqlite::Result<[u8; 32]> {
    let names: [String; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
    let [tenant, namespace, id] = &names;
    let value: Vec<u8> = row.get(4)?;
    let version: i64 = row.get(3)?;
    let expires_at = row.get::<_, Option<i64>>(5)?.map(Timestamp::from_micros);
    Ok(record_hash([tenant, namespace, id], version, &value, expires_at))
}

fn record_hash(
    names: [&str; 3],
    version: i64,
    value: &[u8],
    expires_at: Option<Timestamp>,
) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"weaver/record-sum/v1\0");
    for part in names.map(str::as_bytes).into_iter().chain([value]) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.update(version.to_be_bytes());
    if let Some(expires_at) = expires_at {
        hash.update(expires_at.micros().to_be_bytes());
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_can_be_taken_out_in_any_order() {
        let (a, b) = ([200; 32], record_hash(["t", "n", "i"], 1, b"v", None));
        let mut sum = MultisetHash::default();
        sum.add(&a);
        sum.add(&b);
        sum.add(&a);
        assert_eq!(MultisetHash::from_bytes("records", &sum.to_bytes()), Ok(sum));
        sum.subtract(&a);
        sum.subtract(&b);
        assert_ne!(sum, MultisetHash::default());
        sum.subtract(&a);
        assert_eq!(sum, MultisetHash::default());
    }

    #[test]
    fn every_field_of_a_record_counts() {
        let at = Some(Timestamp::from_micros(0));
        let hashes = [
            record_hash(["t", "n", "i"], 1, b"v", None),
            record_hash(["t", "ni", ""], 1, b"v", None),
            record_hash(["t", "n", "iv"], 1, b"", None),
            record_hash(["t", "n", "i"], 2, b"v", None),
            record_hash(["t", "n", "i"], 1, b"w", None),
            record_hash(["t", "n", "i"], 1, b"v", at),
        ];
        let distinct: std::collections::BTreeSet<_> = hashes.iter().collect();
        assert_eq!(distinct.len(), hashes.len());
    }
}
