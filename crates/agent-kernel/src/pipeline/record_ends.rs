//! Records ends of calls that the ledger refused when they happened.
//!
//! A ledger that was unreachable for a while recovers by itself. A call whose effect happened, and
//! whose end was refused in the meantime, is then still open in it. Its end, "outcome unknown" with
//! the worst label and everything that was reserved, is recorded before anything else is executed.

use weaver_types::ledger::{LedgerError, Namespace};

use super::run_update::{RunUpdate, RunUpdateError};
use crate::cached_run::lock_run;
use crate::kernel::Kernel;
use crate::unrecorded_ends::UnrecordedEnd;

impl Kernel {
    /// Records all unrecorded ends. Nothing is executed until every one of them is committed.
    pub(crate) async fn flush_unrecorded_ends(&self) -> Result<(), RunUpdateError> {
        self.collect_deferred_ends();
        while self.unrecorded_ends.may_be_non_empty() {
            // Several callers may record the same end: the ledger accepts it once.
            let Some(unrecorded) = self.unrecorded_ends.next() else { return Ok(()) };
            self.record_unrecorded_end(&unrecorded).await?;
            self.unrecorded_ends.remove(&unrecorded.call);
        }
        Ok(())
    }

    async fn record_unrecorded_end(
        &self,
        unrecorded: &UnrecordedEnd,
    ) -> Result<(), RunUpdateError> {
        let UnrecordedEnd { call, open, end } = unrecorded;
        let malformed = |problem: String| LedgerError::Malformed(problem);
        let slot = self.runs.slot(&open.run, self.ledger.as_ref());
        let slot = slot.map_err(|error| malformed(error.to_string()))?;
        let (delta, batch) = self
            .early_end_batch(call, open, *end)
            .ok_or_else(|| malformed("the end of a call has no recordable form".to_owned()))?;
        match self
            .commit_run_update(RunUpdate::without_caller(&open.run, &slot, delta, batch))
            .await
        {
            Ok(()) => {
                if let Some(session) = lock_run(&slot).and_then(|run| run.session().cloned()) {
                    session.charge(open.tokens);
                }
                Ok(())
            }
            // The end was recorded after all.
            Err(RunUpdateError::Ledger(LedgerError::Conflict { key }))
                if key.namespace == Namespace::OpenCall =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
