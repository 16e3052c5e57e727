//! Tracks which records refer to which blobs, and sweeps orphaned blobs.
//!
//! A blob is written before the batch that refers to it, so a process that dies in between leaves a
//! blob that nothing will ever refer to. Two tables distinguish such a blob from one that is about
//! to be referenced: `blob_written` stores in which opening of the file a blob was last written,
//! and `blob_names` stores the references, changed in the same transaction as the records. Only one
//! process writes a file, and a batch does not outlive its process. Therefore an unreferenced blob
//! of an earlier opening is orphaned, and one of the current opening is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{Connection, OptionalExtension, params};
use weaver_types::ledger::{Batch, BlobId};

use super::error_mapping::from_sql;
use super::integrity_sums::IntegritySums;
use super::queue::BlobChange;
use super::rows;
use super::statement::{SqlResult, run, run_counted};

/// Blobs that one sweep examines, and bytes that it removes, not counting its last blob.
const SWEEP_BLOBS: i64 = 64;
const SWEEP_BYTES: i64 = 16 * 1024 * 1024;

pub(super) const CANDIDATES: &str = "SELECT id, opening,
    EXISTS (SELECT 1 FROM blob_names WHERE blob = blob_written.id),
    coalesce((SELECT length(bytes) FROM blobs WHERE blobs.id = blob_written.id), 0)
    FROM blob_written WHERE id > ?1 ORDER BY id LIMIT ?2";
pub(super) const UNNAME: &str =
    "DELETE FROM blob_names WHERE tenant = ?1 AND namespace = ?2 AND id = ?3";
const NAME: &str = "INSERT OR IGNORE INTO blob_names (tenant, namespace, id, blob)
    VALUES (?1, ?2, ?3, ?4)";
const WRITTEN: &str = "INSERT INTO blob_written (id, opening) VALUES (?1, ?2)
    ON CONFLICT (id) DO UPDATE SET opening = excluded.opening";
const OPENED: &str = "INSERT INTO openings (one, count) VALUES (1, ?1)
    ON CONFLICT (one) DO UPDATE SET count = excluded.count";

/// A blob: its name, the opening in which it was last written, whether it is referenced, its
/// length.
type CandidateRow = (Vec<u8>, i64, bool, i64);

/// The state of blob references and of the sweep, for this opening of the file.
pub(super) struct OrphanedBlobs {
    /// The number of this opening, stored with its first blob.
    opening: i64,
    written: bool,
    /// Whether any record refers to a blob.
    named: bool,
    /// The last blob that the sweep examined.
    last: Vec<u8>,
    sweeping: Arc<AtomicBool>,
}

impl OrphanedBlobs {
    /// Numbers this opening.
    pub(super) fn open(db: &Connection) -> SqlResult<Self> {
        let sql = |error: rusqlite::Error| from_sql(&error);
        let before = db
            .query_row("SELECT count FROM openings WHERE one = 1", [], |row| row.get::<_, i64>(0))
            .optional()
            .map_err(sql)?;
        let some = |table: &str| -> SqlResult<bool> {
            let query = format!("SELECT EXISTS (SELECT 1 FROM {table})");
            db.query_row(&query, [], |row| row.get(0)).map_err(|error| from_sql(&error))
        };
        Ok(Self {
            opening: before.unwrap_or(0).saturating_add(1),
            written: false,
            named: some("blob_names")?,
            last: Vec::new(),
            sweeping: Arc::new(AtomicBool::new(some("blob_written")?)),
        })
    }

    /// True until the blobs of earlier openings have been examined.
    pub(super) fn sweeping(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.sweeping)
    }

    pub(super) fn is_sweeping(&self) -> bool {
        self.sweeping.load(Ordering::Acquire)
    }

    /// A transaction was rolled back, and with it possibly what it wrote here.
    pub(super) fn rolled_back(&mut self) {
        self.written = false;
        self.last.clear();
    }

    /// Writes or removes a blob, and records that.
    pub(super) fn change(
        &mut self,
        db: &Connection,
        change: BlobChange,
        sums: &mut IntegritySums,
    ) -> SqlResult<()> {
        match change {
            BlobChange::Put(id, bytes) => {
                rows::put_blob(db, &id, &bytes, sums)?;
                self.note_written(db, &id)
            }
            BlobChange::Remove(id) => {
                rows::remove_blob(db, &id, sums)?;
                Self::note_removed(db, id.0.as_bytes())
            }
        }
    }

    /// Records that a blob was written, or written again.
    fn note_written(&mut self, db: &Connection, id: &BlobId) -> SqlResult<()> {
        if !self.written {
            run(db, OPENED, [self.opening])?;
            self.written = true;
        }
        run(db, WRITTEN, params![id.0.as_bytes(), self.opening])
    }

    /// Records that a blob was removed.
    fn note_removed(db: &Connection, id: &[u8]) -> SqlResult<()> {
        run(db, "DELETE FROM blob_written WHERE id = ?1", [id])
    }

    /// Records the blob references of a batch, after its records were written.
    pub(super) fn note_references(&mut self, db: &Connection, batch: &Batch) -> SqlResult<()> {
        if batch.blobs.is_empty() && !self.named {
            return Ok(());
        }
        for put in batch.puts() {
            let (tenant, namespace) = (put.key.tenant.as_str(), put.key.namespace.as_str());
            run(db, UNNAME, params![tenant, namespace, put.key.id])?;
        }
        for used in &batch.blobs {
            let (tenant, namespace) = (used.key.tenant.as_str(), used.key.namespace.as_str());
            run(db, NAME, params![tenant, namespace, used.key.id, used.blob.0.as_bytes()])?;
            self.named = true;
        }
        Ok(())
    }

    /// Examines the next blobs of earlier openings, and removes the unreferenced ones in a
    /// transaction of its own. True when any was removed.
    pub(super) fn sweep(&mut self, db: &Connection, sums: &mut IntegritySums) -> SqlResult<bool> {
        let page = self.page(db)?;
        if page.is_empty() {
            self.sweeping.store(false, Ordering::Release);
            return Ok(false);
        }
        let (mut orphans, mut bytes) = (Vec::new(), 0_i64);
        for (id, opening, named, length) in page {
            if bytes >= SWEEP_BYTES {
                break;
            }
            self.last.clone_from(&id);
            if opening < self.opening && !named {
                bytes = bytes.saturating_add(length);
                orphans.push(id);
            }
        }
        if orphans.is_empty() {
            return Ok(false);
        }
        run(db, "BEGIN IMMEDIATE", [])?;
        for id in &orphans {
            if run_counted(db, "DELETE FROM blobs WHERE id = ?1", [id])? > 0 {
                sums.remove_blob_by_id_bytes(id)?;
            }
            Self::note_removed(db, id)?;
        }
        sums.save(db)?;
        run(db, "COMMIT", [])?;
        Ok(true)
    }

    fn page(&self, db: &Connection) -> SqlResult<Vec<CandidateRow>> {
        (|| {
            db.prepare_cached(CANDIDATES)?
                .query_map(params![self.last, SWEEP_BLOBS], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                })?
                .collect::<Result<_, _>>()
        })()
        .map_err(|error| from_sql(&error))
    }
}
