//! Ends of calls that are on their way to the ledger while their callers go on.

use std::collections::VecDeque;
use std::sync::Mutex;

use weaver_types::CallId;
use weaver_types::ledger::{LedgerError, Receipt, Ticket};

use crate::cached_run::RunSlot;
use crate::open_call::OpenCall;

/// How many ends may be on their way; the next is waited for.
const MAX_DEFERRED: usize = 1_024;

/// The end of a call that was submitted, and that nobody waits for.
pub(crate) struct DeferredEnd {
    pub(crate) slot: RunSlot,
    /// Its number in the run.
    pub(crate) step: u64,
    pub(crate) ticket: Ticket,
    pub(crate) call: CallId,
    pub(crate) open: OpenCall,
}

/// The ends on their way, in the order of their submission.
#[derive(Default)]
pub(crate) struct DeferredEnds {
    ends: Mutex<VecDeque<Box<DeferredEnd>>>,
}

impl DeferredEnds {
    /// Takes an end, or gives it back where there are too many.
    pub(crate) fn add(&self, end: Box<DeferredEnd>) -> Result<(), Box<DeferredEnd>> {
        match self.ends.lock() {
            Ok(mut ends) if ends.len() < MAX_DEFERRED => {
                ends.push_back(end);
                Ok(())
            }
            _ => Err(end),
        }
    }

    /// The oldest end, where the ledger has taken or refused it. One ledger answers in the order in
    /// which it was asked, so nothing behind an end that is not done is looked at.
    pub(crate) fn next_done(&self) -> Option<(Box<DeferredEnd>, Result<Receipt, LedgerError>)> {
        let mut ends = self.ends.lock().ok()?;
        let done = ends.front_mut()?.ticket.try_take()?;
        ends.pop_front().map(|end| (end, done))
    }
}
