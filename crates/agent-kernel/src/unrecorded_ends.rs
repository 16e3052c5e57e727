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
