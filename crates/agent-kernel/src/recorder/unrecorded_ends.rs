//! Ends of calls that the ledger did not accept.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use weaver_types::{CallId, EventKind, ReasonCode};

use super::open_call::OpenCall;

/// How a call ends that was abandoned before its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EarlyEnd {
    pub(crate) kind: EventKind,
    pub(crate) reason: ReasonCode,
}

impl EarlyEnd {
    /// The call was abandoned, and it cannot have changed anything.
    pub(crate) const CANCELLED: Self =
        Self { kind: EventKind::Outcome, reason: ReasonCode::Cancelled };
    /// Whether the call took effect is unknown.
    pub(crate) const UNKNOWN: Self =
        Self { kind: EventKind::OutcomeUnknown, reason: ReasonCode::OutcomeUnknown };
}

/// A call whose end is not recorded yet, and how it ends.
pub(crate) struct UnrecordedEnd {
    pub(crate) call: CallId,
    pub(crate) open: OpenCall,
    pub(crate) end: EarlyEnd,
}

/// The calls whose ends are not recorded: at most as many as ran at once.
#[derive(Default)]
pub(crate) struct UnrecordedEnds {
    calls: Mutex<Vec<Arc<UnrecordedEnd>>>,
    may_be_non_empty: AtomicBool,
}

impl UnrecordedEnds {
    /// False only if there is certainly none left; checked without the lock.
    pub(crate) fn may_be_non_empty(&self) -> bool {
        self.may_be_non_empty.load(Ordering::Acquire)
    }

    pub(crate) fn add(&self, end: UnrecordedEnd) {
        if let Ok(mut calls) = self.calls.lock() {
            calls.push(Arc::new(end));
            self.may_be_non_empty.store(true, Ordering::Release);
        }
    }

    /// One of them. It stays in the list until it is recorded, even if the caller is dropped.
    pub(crate) fn next(&self) -> Option<Arc<UnrecordedEnd>> {
        self.calls.lock().ok()?.last().cloned()
    }

    /// Removes one that is recorded.
    pub(crate) fn remove(&self, call: &CallId) {
        if let Ok(mut calls) = self.calls.lock() {
            calls.retain(|end| end.call != *call);
            self.may_be_non_empty.store(!calls.is_empty(), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::{CapabilityId, Label, PrincipalId, RunId};

    use super::*;

    #[test]
    fn ends_are_left_until_all_of_them_are_recorded() {
        let ends = UnrecordedEnds::default();
        assert!(!ends.may_be_non_empty());
        for call in ["call_1", "call_2"] {
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
            let call = CallId::parse(call).unwrap();
            ends.add(UnrecordedEnd { call, open, end: EarlyEnd::UNKNOWN });
        }
        for _ in 0..2 {
            assert!(ends.may_be_non_empty());
            let end = ends.next().unwrap();
            assert_eq!(ends.next().unwrap().call, end.call, "until it is recorded");
            ends.remove(&end.call);
        }
        assert!(ends.next().is_none() && !ends.may_be_non_empty());
    }
}
