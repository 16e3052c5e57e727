//! The ids of the requests in flight.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio_util::sync::CancellationToken;

/// The ids in flight that were not cancelled. A cancelled id may be used again while its first
/// request still runs, so each request also has a unique number.
#[derive(Default)]
pub(super) struct InFlightRequests(Mutex<RequestTable>);

#[derive(Default)]
struct RequestTable {
    last_number: u64,
    by_id: BTreeMap<String, InFlightRequest>,
}

/// A request that is still to be answered.
struct InFlightRequest {
    number: u64,
    cancellation: RequestCancellation,
}

/// Cancels parts of a request in flight.
#[derive(Clone, Default)]
pub(super) struct RequestCancellation {
    /// Cancelled when waits for a person must end.
    pub(super) wait_ended: CancellationToken,
    /// Cancelled when the client no longer wants the answer; the server is notified.
    pub(super) abandoned: CancellationToken,
    /// Cancelled when the gateway ends before a call has: its outcome is unknown.
    pub(super) cut_off: CancellationToken,
}

impl InFlightRequests {
    /// Begins a request, and returns its number; `None` when its id is in use.
    pub(super) fn begin(&self, id: &str) -> Option<(u64, RequestCancellation)> {
        let mut open = self.0.lock().ok()?;
        if open.by_id.contains_key(id) {
            return None;
        }
        open.last_number += 1;
        let number = open.last_number;
        let cancellation = RequestCancellation::default();
        let request = InFlightRequest { number, cancellation: cancellation.clone() };
        open.by_id.insert(id.to_owned(), request);
        Some((number, cancellation))
    }

    /// Continues a request under another id. A wait that has ended for the first stays ended.
    pub(super) fn begin_continuation(
        &self,
        id: &str,
        first: &RequestCancellation,
    ) -> Option<(u64, RequestCancellation)> {
        let (number, cancellation) = self.begin(id)?;
        // Checked after the new id is registered, so that a cancellation in between reaches one of
        // the two.
        if first.wait_ended.is_cancelled() {
            cancellation.wait_ended.cancel();
        }
        Some((number, cancellation))
    }

    /// True while the request is still to be answered.
    pub(super) fn is_open(&self, id: &str, number: u64) -> bool {
        let open = self.0.lock();
        open.is_ok_and(|open| open.by_id.get(id).is_some_and(|request| request.number == number))
    }

    /// Ends a request. True when it was still to be answered.
    pub(super) fn finish(&self, id: &str, number: u64) -> bool {
        let Ok(mut open) = self.0.lock() else { return false };
        let is_open = open.by_id.get(id).is_some_and(|request| request.number == number);
        if is_open {
            open.by_id.remove(id);
        }
        is_open
    }

    pub(super) fn cancel(&self, id: &str) {
        if let Ok(mut open) = self.0.lock()
            && let Some(request) = open.by_id.remove(id)
        {
            request.cancellation.wait_ended.cancel();
            request.cancellation.abandoned.cancel();
        }
    }

    /// Ends all waits for approvals; every request is still answered.
    pub(super) fn stop_waiting(&self) {
        if let Ok(open) = self.0.lock() {
            open.by_id.values().for_each(|request| request.cancellation.wait_ended.cancel());
        }
    }

    /// Cuts every call off that has not ended; each is still answered.
    pub(super) fn cut_off(&self) {
        if let Ok(open) = self.0.lock() {
            open.by_id.values().for_each(|request| request.cancellation.cut_off.cancel());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_request_never_ends_the_next_of_the_same_id() {
        let open = InFlightRequests::default();
        let (first, _) = open.begin("7").unwrap();
        assert!(open.begin("7").is_none(), "it is under way");
        open.cancel("7");
        let (second, _) = open.begin("7").unwrap();
        assert!(!open.finish("7", first), "cancelled");
        assert!(open.finish("7", second));
        assert!(!open.finish("7", second), "answered already");
    }

    #[test]
    fn cancelling_and_the_end_of_the_session_both_end_the_wait() {
        let open = InFlightRequests::default();
        let (_, cancelled) = open.begin("1").unwrap();
        let (number, waiting) = open.begin("2").unwrap();
        open.cancel("1");
        let ended = |cancellation: &RequestCancellation| {
            (cancellation.wait_ended.is_cancelled(), cancellation.abandoned.is_cancelled())
        };
        assert_eq!((ended(&cancelled), ended(&waiting)), ((true, true), (false, false)));
        open.stop_waiting();
        assert_eq!(ended(&waiting), (true, false), "its call goes on");
        assert!(open.finish("2", number), "it is still answered");
    }

    #[test]
    fn what_goes_on_after_the_end_of_the_session_waits_for_nobody() {
        let open = InFlightRequests::default();
        let (_, first) = open.begin("1").unwrap();
        let (_, early) = open.begin_continuation("task_1", &first).unwrap();
        assert!(!early.wait_ended.is_cancelled());
        open.stop_waiting();
        assert!(early.wait_ended.is_cancelled());
        let (_, late) = open.begin_continuation("task_2", &first).unwrap();
        assert!(late.wait_ended.is_cancelled());
        assert!(open.begin_continuation("task_2", &first).is_none(), "it is under way");
    }
}
