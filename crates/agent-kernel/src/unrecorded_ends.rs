//! Ends of calls that the ledger did not take.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use weaver_types::{CallId, EventKind, ReasonCode};

use crate::open_call::OpenCall;

/// The end of a call that nobody saw through.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EarlyEnd {
    pub(crate) kind: EventKind,
    pub(crate) reason: ReasonCode,
}

impl EarlyEnd {
    /// It was given up before it could do anything.
    pub(crate) const CANCELLED: Self =
        Self { kind: EventKind::Outcome, reason: ReasonCode::Cancelled };
    /// Whether it took effect is unknown.
    pub(crate) const UNKNOWN: Self =
        Self { kind: EventKind::OutcomeUnknown, reason: ReasonCode::OutcomeUnknown };
}

/// A call whose end is not recorded yet, and how it ends.
pub(crate) struct UnrecordedEnd {
    pub(crate) call: CallId,
    pub(crate) open: OpenCall,
    pub(crate) end: EarlyEnd,
}

/// The calls whose ends are not recorded: at most as many as were under way at once.
#[derive(Default)]
pub(crate) struct UnrecordedEnds {
    calls: Mutex<Vec<UnrecordedEnd>>,
    any: AtomicBool,
}

impl UnrecordedEnds {
    /// True as long as one may be left.
    pub(crate) fn is_any_left(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    pub(crate) fn add(&self, end: UnrecordedEnd) {
        if let Ok(mut calls) = self.calls.lock() {
            calls.push(end);
            self.any.store(true, Ordering::Release);
        }
    }

    pub(crate) fn take(&self) -> Option<UnrecordedEnd> {
        let mut calls = self.calls.lock().ok()?;
        let end = calls.pop();
        if end.is_none() {
            self.any.store(false, Ordering::Release);
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::{CapabilityId, Label, PrincipalId, RunId};

    use super::*;

    #[test]
    fn ends_are_left_until_all_of_them_were_taken() {
        let ends = UnrecordedEnds::default();
        assert!(!ends.is_any_left());
        for _ in 0..2 {
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
            ends.add(UnrecordedEnd { call, open, end: EarlyEnd::UNKNOWN });
        }
        for left in [true, true] {
            assert_eq!(ends.is_any_left(), left);
            assert!(ends.take().is_some());
        }
        assert!(ends.is_any_left(), "one more may have come meanwhile");
        assert!(ends.take().is_none());
        assert!(!ends.is_any_left());
    }
}
