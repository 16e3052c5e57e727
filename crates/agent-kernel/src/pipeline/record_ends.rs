//! Recording the ends of calls that the ledger did not take when they came.
//!
//! A ledger that was out of reach for a while goes on by itself. A call whose effect was made, and
//! whose end was refused meanwhile, is still open in it then. Its end, "outcome unknown" with the
//! worst label and all that it had set aside, is recorded before anything else is executed.

use weaver_types::ledger::{LedgerError, Namespace};

use super::transition::{Step, StepError};
use crate::cached_run::lock;
use crate::kernel::Kernel;
use crate::unrecorded_ends::UnrecordedEnd;

impl Kernel {
    /// Records the ends that are unrecorded. As long as one of them is not taken, nothing is executed.
    pub(crate) async fn record_ends(&self) -> Result<(), StepError> {
        self.settle_deferred_ends();
        while self.unrecorded_ends.is_any_left() {
            // Several callers may record the same one: the ledger takes it once.
            let Some(unrecorded) = self.unrecorded_ends.next() else { return Ok(()) };
            self.record_end_of(&unrecorded).await?;
            self.unrecorded_ends.remove(&unrecorded.call);
        }
        Ok(())
    }

    async fn record_end_of(&self, unrecorded: &UnrecordedEnd) -> Result<(), StepError> {
        let UnrecordedEnd { call, open, end } = unrecorded;
        let failed = |problem: String| LedgerError::Malformed(problem);
        let slot = self.runs.slot(&open.run, self.ledger.as_ref());
        let slot = slot.map_err(|error| failed(error.to_string()))?;
        let (delta, batch) = self
            .early_end(call, open, *end)
            .ok_or_else(|| failed("the end of a call has no recordable form".to_owned()))?;
        match self.step(Step::of_nobody(&open.run, &slot, delta, batch)).await {
            Ok(()) => {
                if let Some(session) = lock(&slot).and_then(|run| run.session().cloned()) {
                    session.charge(open.tokens);
                }
                Ok(())
            }
            // It was taken after all.
            Err(StepError::Ledger(LedgerError::Conflict { key }))
                if key.namespace == Namespace::OpenCall =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
