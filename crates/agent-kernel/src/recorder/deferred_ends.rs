//! Ends of calls that are being committed while their callers go on.

use std::collections::VecDeque;
use std::sync::Mutex;

use weaver_types::CallId;
use weaver_types::ledger::{CommitReceipt, CommitTicket, LedgerError};

use super::open_call::OpenCall;
use crate::cached_run::RunSlot;

/// How many ends may be deferred at once; further ones are waited for.
const MAX_DEFERRED: usize = 1_024;

/// The end of a call that was submitted and that nobody waits for.
pub(crate) struct DeferredEnd {
    pub(crate) slot: RunSlot,
    /// The number of the update in its run.
    pub(crate) update_id: u64,
    pub(crate) ticket: CommitTicket,
    pub(crate) call: CallId,
    pub(crate) open: OpenCall,
}

/// The deferred ends in the order of their submission.
#[derive(Default)]
pub(crate) struct DeferredEnds {
    ends: Mutex<VecDeque<Box<DeferredEnd>>>,
}

impl DeferredEnds {
    /// Adds an end; returns it if there are too many.
    pub(crate) fn add(&self, end: Box<DeferredEnd>) -> Result<(), Box<DeferredEnd>> {
        match self.ends.lock() {
            Ok(mut ends) if ends.len() < MAX_DEFERRED => {
                ends.push_back(end);
                Ok(())
            }
            _ => Err(end),
        }
    }

    /// The oldest end, if the ledger has committed or refused it. A ledger answers in the order of
    /// submission, so nothing behind an unanswered end is looked at.
    pub(crate) fn pop_done(
        &self,
    ) -> Option<(Box<DeferredEnd>, Result<CommitReceipt, LedgerError>)> {
        let mut ends = self.ends.lock().ok()?;
        let done = ends.front_mut()?.ticket.try_take()?;
        ends.pop_front().map(|end| (end, done))
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::ledger::CommitCompleter;
    use weaver_types::{CapabilityId, Label, PrincipalId, RunId};

    use super::*;

    fn end(step: u64) -> (Box<DeferredEnd>, CommitCompleter) {
        let (ticket, completer) = CommitTicket::pair();
        let open = OpenCall {
            capability: CapabilityId::parse("fs.read").unwrap(),
            cost: 0,
            latency_us: 0,
            principal: PrincipalId::parse("ana").unwrap(),
            run: RunId::parse("run_1").unwrap(),
            tokens: 0,
            v: 1,
            worst: Label::clean(),
        };
        let call = CallId::parse("call_1").unwrap();
        (
            Box::new(DeferredEnd { slot: RunSlot::default(), update_id: step, ticket, call, open }),
            completer,
        )
    }

    #[test]
    fn ends_are_done_in_their_order_whichever_is_answered_first() {
        let ends = DeferredEnds::default();
        assert!(ends.pop_done().is_none());
        let (first, one) = end(1);
        let (second, two) = end(2);
        assert!(ends.add(first).is_ok() && ends.add(second).is_ok());
        two.complete(Err(LedgerError::Closed));
        assert!(ends.pop_done().is_none(), "the one before it is on its way");
        one.complete(Err(LedgerError::Closed));
        let done: Vec<u64> =
            std::iter::from_fn(|| ends.pop_done()).map(|(end, _)| end.update_id).collect();
        assert_eq!(done, [1, 2]);
    }

    #[test]
    fn at_most_1_024_ends_are_on_their_way() {
        let ends = DeferredEnds::default();
        let mut completers = Vec::new();
        for step in 0..1_024 {
            let (end, completer) = end(step);
            assert!(ends.add(end).is_ok(), "{step}");
            completers.push(completer);
        }
        let back = ends.add(end(1_024).0).err().unwrap();
        assert_eq!(back.update_id, 1_024);
        completers.remove(0).complete(Err(LedgerError::Closed));
        assert!(ends.pop_done().is_some());
        assert!(ends.add(back).is_ok());
    }
}
