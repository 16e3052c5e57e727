//! Commits on the thread of a caller.

use std::time::Duration;

use weaver_types::ledger::Durability;

use super::{FORCED_CHECKPOINT_BYTES, Writer};
use crate::sqlite::answers::CommitThread;
use crate::sqlite::reader::BUSY_TIMEOUT;

impl Writer {
    /// Commits the waiting batches on a caller's thread, if that takes no longer than writing a few
    /// pages. Whatever might wait for the disk, for a reader or for another process is left to the
    /// writer's thread; false in that case.
    pub(in crate::sqlite) fn commit_for_caller(&mut self) -> bool {
        let is_free = self.outage.is_none()
            && !self.has_failed
            && self.bytes_since_checkpoint < FORCED_CHECKPOINT_BYTES
            && self.wal_bytes <= self.max_wal_bytes;
        if !is_free || !self.begin_at_once() {
            return false;
        }
        let group = self.queue.take_for_caller();
        if group.is_empty() {
            self.has_open_transaction = false;
            // If the file is broken, the writer's thread will find that too and report it.
            let _ = self.sql("ROLLBACK");
            return false;
        }
        let done = self.commit_group(group, CommitThread::Caller);
        self.fail_on_error(done);
        self.queue.note_caller_commit(self.is_due() || self.checkpoint_blocked);
        true
    }

    /// Begins a transaction without a sync and without waiting for anybody.
    fn begin_at_once(&mut self) -> bool {
        let begun = self
            .set_busy_timeout(Duration::ZERO)
            .and_then(|()| self.begin(Durability::Os))
            .and_then(|()| self.set_busy_timeout(BUSY_TIMEOUT));
        self.has_open_transaction = begun.is_ok();
        if !self.has_open_transaction {
            let _ = self.set_busy_timeout(BUSY_TIMEOUT);
            if !self.db.is_autocommit() {
                let _ = self.sql("ROLLBACK");
            }
        }
        self.has_open_transaction
    }
}
