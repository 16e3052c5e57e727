//! Committing on the thread of a caller.

use std::time::Duration;

use weaver_types::ledger::Durability;

use super::{CHECKPOINT_BUSY, Writer};
use crate::sqlite::reader::PATIENCE;

impl Writer {
    /// Commits what waits on the thread of a caller, if that takes no longer than writing a few
    /// pages: whatever would wait for the disk, for a reader or for another process is left to the
    /// thread. False when it is.
    pub(in crate::sqlite) fn lead(&mut self) -> bool {
        let is_free = self.outage.is_none()
            && !self.ended
            && self.unchecked < CHECKPOINT_BUSY
            && self.log <= self.max_log;
        if !is_free || !self.begin_at_once() {
            return false;
        }
        let group = self.queue.take_for_caller();
        if group.is_empty() {
            self.begun = false;
            // What is wrong with the file is met by the thread too, which says so.
            let _ = self.sql("ROLLBACK");
            return false;
        }
        let done = self.group(group);
        self.end_after(done);
        self.queue.note_caller_commit(self.is_due() || self.stuck);
        true
    }

    /// Begins a transaction that is not synced, without waiting for anybody.
    fn begin_at_once(&mut self) -> bool {
        let begun = self
            .wait(Duration::ZERO)
            .and_then(|()| self.begin(Durability::Os))
            .and_then(|()| self.wait(PATIENCE));
        self.begun = begun.is_ok();
        if !self.begun {
            let _ = self.wait(PATIENCE);
            if !self.db.is_autocommit() {
                let _ = self.sql("ROLLBACK");
            }
        }
        self.begun
    }
}
