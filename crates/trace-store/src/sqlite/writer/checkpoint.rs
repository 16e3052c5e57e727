//! Checkpoints: what was committed moves from the write-ahead log into the file.

use std::sync::atomic::Ordering;
use std::time::Duration;

use weaver_types::ledger::LedgerError;

use super::Writer;
use crate::sqlite::fault::{fatal, from_sql, passes};
use crate::sqlite::reader::PATIENCE;

impl Writer {
    /// Moves what it can from the write-ahead log into the file, without waiting for readers. When
    /// everything was moved, both are synced. After pruning, the write-ahead log is emptied as well,
    /// as soon as no reader is in the way.
    pub(super) fn checkpoint(&mut self) -> Result<(), LedgerError> {
        self.unchecked = 0;
        self.log = self.watch.check()?;
        let moved = if self.erasing.load(Ordering::Acquire) {
            self.empty()
        } else {
            self.moved("PRAGMA wal_checkpoint(PASSIVE)")
        };
        self.stuck = match moved.map_err(|error| fatal(&from_sql(&error))) {
            Ok((busy, frames, moved)) => busy != 0 || frames != moved,
            // What was committed stands in the write-ahead log until there is room for it.
            Err(error) if passes(&error) => true,
            Err(error) => return Err(error),
        };
        if !self.stuck {
            self.unsynced = false;
            self.publish();
        }
        Ok(())
    }

    /// Tries to empty a write-ahead log that has grown too long; why not, while a reader is in the
    /// way or the disk has no room.
    pub(super) fn emptied(&mut self) -> Result<Option<LedgerError>, LedgerError> {
        match self.empty().map_err(|error| fatal(&from_sql(&error))) {
            Ok((0, ..)) => {}
            Ok(_) => {
                return Ok(Some(LedgerError::Full(format!(
                    "the write-ahead log has {} bytes, above {}, because another process holds an \
                     old state of the file open for reading; end that reader",
                    self.log, self.max_log
                ))));
            }
            Err(error) if passes(&error) => return Ok(Some(self.named(error, Duration::ZERO))),
            Err(error) => return Err(error),
        }
        (self.unchecked, self.unsynced, self.stuck) = (0, false, false);
        self.publish();
        self.log = self.watch.check()?;
        Ok(None)
    }

    /// Makes a checkpoint: whether somebody was in the way, how many frames there were, how many of
    /// them were moved.
    fn moved(&self, sql: &str) -> rusqlite::Result<(i64, i64, i64)> {
        self.db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }

    /// A checkpoint that also empties the write-ahead log, unless a reader is in the way.
    fn empty(&self) -> rusqlite::Result<(i64, i64, i64)> {
        self.db.busy_timeout(Duration::ZERO)?;
        let moved = self.moved("PRAGMA wal_checkpoint(TRUNCATE)");
        self.db.busy_timeout(PATIENCE)?;
        let moved = moved?;
        if moved.0 == 0 {
            self.erasing.store(false, Ordering::Release);
        }
        Ok(moved)
    }

    /// Leaves one file that holds everything, unless a reader is in the way. Nothing depends on it:
    /// what is committed stands in the write-ahead log until then.
    pub(in crate::sqlite) fn leave(self) {
        if self.ended {
            return;
        }
        let _ = self.db.busy_timeout(Duration::ZERO);
        let _ = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
}
