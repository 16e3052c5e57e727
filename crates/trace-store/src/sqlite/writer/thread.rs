//! The work of the writer's thread.

use std::sync::atomic::Ordering;
use std::time::Duration;

use weaver_types::ledger::LedgerError;

use super::{FORCED_CHECKPOINT_BYTES, IDLE_CHECKPOINT_BYTES, Writer};
use crate::sqlite::answers::CommitThread;

/// How long no batch must arrive for the writer to count as idle.
const IDLE: Duration = Duration::from_millis(50);
/// How long to wait before retrying a blocked checkpoint or an outage.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

impl Writer {
    /// How long the thread may sleep before upkeep is due.
    pub(in crate::sqlite) fn idle_limit(&self) -> Option<Duration> {
        let waiting = self.checkpoint_blocked || self.outage.is_some();
        if waiting { Some(RETRY_INTERVAL) } else { self.is_due().then_some(IDLE) }
    }

    /// Whether upkeep is to be done once the writer is idle.
    pub(super) fn is_due(&self) -> bool {
        self.bytes_since_checkpoint >= IDLE_CHECKPOINT_BYTES
            || self.erasing.load(Ordering::Acquire)
            || self.orphans.is_sweeping()
    }

    /// Commits the waiting batches.
    pub(in crate::sqlite) fn commit_waiting(&mut self) {
        let group = self.queue.take();
        if group.is_empty() {
            // A caller was faster.
            return;
        }
        let done = self.commit_group(group, CommitThread::Writer).and_then(|()| {
            match self.bytes_since_checkpoint >= FORCED_CHECKPOINT_BYTES {
                true => self.checkpoint(),
                false => Ok(()),
            }
        });
        self.fail_on_error(done);
    }

    /// Upkeep for an idle writer: sweeping and a checkpoint.
    pub(in crate::sqlite) fn run_upkeep(&mut self) {
        let done = self.try_upkeep();
        self.fail_on_error(done);
    }

    /// The fallible part of [`Writer::run_upkeep`].
    fn try_upkeep(&mut self) -> Result<(), LedgerError> {
        if self.is_outage_over()? {
            self.sweep()?;
            self.checkpoint()?;
        }
        Ok(())
    }
}
