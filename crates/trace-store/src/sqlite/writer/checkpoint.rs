//! Checkpoints: moving commits from the write-ahead log into the file.

use std::sync::atomic::Ordering;
use std::time::Duration;

use weaver_types::ledger::LedgerError;

use super::Writer;
use crate::sqlite::error_mapping::{as_fatal, from_sql, is_transient};
use crate::sqlite::reader::BUSY_TIMEOUT;

impl Writer {
    /// Moves as much as possible from the write-ahead log into the file, without waiting for
    /// readers. If everything was moved, both are synced. After pruning it also truncates the
    /// write-ahead log, as soon as no reader prevents it.
    pub(super) fn checkpoint(&mut self) -> Result<(), LedgerError> {
        self.bytes_since_checkpoint = 0;
        self.wal_bytes = self.watch.check()?;
        let moved = if self.erasing.load(Ordering::Acquire) {
            self.truncate_wal()
        } else {
            self.run_checkpoint("PRAGMA wal_checkpoint(PASSIVE)")
        };
        self.checkpoint_blocked = match moved.map_err(|error| as_fatal(&from_sql(&error))) {
            Ok((busy, frames, moved)) => busy != 0 || frames != moved,
            // The commits stay in the write-ahead log until there is room.
            Err(error) if is_transient(&error) => true,
            Err(error) => return Err(error),
        };
        if !self.checkpoint_blocked {
            self.unsynced = false;
            self.publish_heads();
        }
        Ok(())
    }

    /// Tries to truncate a write-ahead log that has grown too long; returns the refusal if a reader
    /// or a full disk prevents it.
    pub(super) fn try_truncate_wal(&mut self) -> Result<Option<LedgerError>, LedgerError> {
        match self.truncate_wal().map_err(|error| as_fatal(&from_sql(&error))) {
            Ok((0, ..)) => {}
            Ok(_) => {
                return Ok(Some(LedgerError::Full(format!(
                    "the write-ahead log has {} bytes, above {}, because another process holds an \
                     old state of the file open for reading; end that reader",
                    self.wal_bytes, self.max_wal_bytes
                ))));
            }
            Err(error) if is_transient(&error) => {
                return Ok(Some(self.with_path(error, Duration::ZERO)));
            }
            Err(error) => return Err(error),
        }
        (self.bytes_since_checkpoint, self.unsynced, self.checkpoint_blocked) = (0, false, false);
        self.publish_heads();
        self.wal_bytes = self.watch.check()?;
        Ok(None)
    }

    /// Runs a checkpoint; returns whether somebody was in the way, the number of frames, and how
    /// many of them were moved.
    fn run_checkpoint(&self, sql: &str) -> rusqlite::Result<(i64, i64, i64)> {
        self.db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }

    /// A checkpoint that also truncates the write-ahead log, unless a reader prevents it.
    fn truncate_wal(&self) -> rusqlite::Result<(i64, i64, i64)> {
        self.db.busy_timeout(Duration::ZERO)?;
        let moved = self.run_checkpoint("PRAGMA wal_checkpoint(TRUNCATE)");
        self.db.busy_timeout(BUSY_TIMEOUT)?;
        let moved = moved?;
        if moved.0 == 0 {
            self.erasing.store(false, Ordering::Release);
        }
        Ok(moved)
    }

    /// Folds everything into one file on close, unless a reader prevents it. Nothing depends on it:
    /// the commits are in the write-ahead log until then.
    pub(in crate::sqlite) fn checkpoint_and_close(self) {
        if self.has_failed {
            return;
        }
        let _ = self.db.busy_timeout(Duration::ZERO);
        let _ = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
}
