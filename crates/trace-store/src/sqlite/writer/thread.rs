//! The loop of the writer's thread.

use std::sync::atomic::Ordering;
use std::time::Duration;

use weaver_types::ledger::LedgerError;

use super::{CHECKPOINT_BUSY, CHECKPOINT_IDLE, Writer};

/// How long nothing must arrive to count as idle.
const IDLE: Duration = Duration::from_millis(50);
/// How long until a checkpoint is tried again that a reader was in the way of.
const AGAIN: Duration = Duration::from_secs(1);

impl Writer {
    /// How long the thread waits for work before it does what is due.
    pub(in crate::sqlite) fn patience(&self) -> Option<Duration> {
        let waiting = self.stuck || self.outage.is_some();
        if waiting { Some(AGAIN) } else { self.is_due().then_some(IDLE) }
    }

    /// Whether something is to be done once nothing comes.
    pub(super) fn is_due(&self) -> bool {
        self.unchecked >= CHECKPOINT_IDLE
            || self.erasing.load(Ordering::Acquire)
            || self.orphans.is_sweeping()
    }

    /// Commits what waits.
    pub(in crate::sqlite) fn work(&mut self) {
        let group = self.queue.take();
        if group.is_empty() {
            // A caller was faster.
            return;
        }
        let done = self.group(group).and_then(|()| match self.unchecked >= CHECKPOINT_BUSY {
            true => self.checkpoint(),
            false => Ok(()),
        });
        self.end_after(done);
    }

    /// What is done when nothing comes.
    pub(in crate::sqlite) fn rest(&mut self) {
        let done = self.idle();
        self.end_after(done);
    }

    /// What is done when nothing comes.
    fn idle(&mut self) -> Result<(), LedgerError> {
        if self.is_over()? {
            self.sweep()?;
            self.checkpoint()?;
        }
        Ok(())
    }
}
