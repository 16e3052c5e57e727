//! Ends of calls that the ledger did not take.
//!
//! A ledger that was out of reach for a while goes on by itself. A call whose effect was made, and
//! whose end was refused meanwhile, is still open in it then. Its end, "outcome unknown" with the
//! worst label and all that it had set aside, is recorded before anything else is executed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use weaver_types::ledger::{LedgerError, Namespace};
use weaver_types::{CallId, EventKind, ReasonCode};

use super::transition::{Step, StepError};
use super::unfinished::OpenCall;
use crate::hot_run::lock;
use crate::kernel::Kernel;

/// A call whose end is owed, and how it ends.
pub(crate) struct Owed {
    pub(crate) call: CallId,
    pub(crate) open: OpenCall,
    pub(crate) end: (EventKind, ReasonCode),
}

/// The calls whose ends are owed: at most as many as were under way at once.
#[derive(Default)]
pub(crate) struct Unended {
    calls: Mutex<Vec<Owed>>,
    some: AtomicBool,
}

impl Unended {
    pub(crate) fn add(&self, owed: Owed) {
        if let Ok(mut calls) = self.calls.lock() {
            calls.push(owed);
            self.some.store(true, Ordering::Release);
        }
    }

    fn take(&self) -> Option<Owed> {
        let mut calls = self.calls.lock().ok()?;
        let owed = calls.pop();
        if owed.is_none() {
            self.some.store(false, Ordering::Release);
        }
        owed
    }
}

impl Kernel {
    /// Records the ends that are owed. As long as one of them is not taken, nothing is executed.
    pub(crate) async fn end_owed(&self) -> Result<(), StepError> {
        while self.unended.some.load(Ordering::Acquire) {
            let Some(owed) = self.unended.take() else { return Ok(()) };
            if let Err(error) = self.end_one(&owed).await {
                self.unended.add(owed);
                return Err(error);
            }
        }
        Ok(())
    }

    async fn end_one(&self, owed: &Owed) -> Result<(), StepError> {
        let Owed { call, open, end } = owed;
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
