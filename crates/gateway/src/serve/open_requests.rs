//! The ids of the requests under way.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio_util::sync::CancellationToken;

/// The ids that are worked on and not cancelled. An id that was cancelled may be used again while
/// its first request is still under way, so each request has a number of its own.
#[derive(Default)]
pub(super) struct OpenRequests(Mutex<RequestTable>);

#[derive(Default)]
struct RequestTable {
    last: u64,
    by_id: BTreeMap<String, OpenRequest>,
}

/// A request that is still to be answered.
struct OpenRequest {
    number: u64,
    tokens: RequestTokens,
}

/// What tells a request under way that it is over.
#[derive(Clone, Default)]
pub(super) struct RequestTokens {
    /// Nobody waits for a person any more.
    pub(super) cancellation: CancellationToken,
    /// The client wants no answer: its server is told.
    pub(super) abandoned: CancellationToken,
}

impl OpenRequests {
    /// The number of a fresh request; `None` when its id is taken.
    pub(super) fn begin(&self, id: &str) -> Option<(u64, RequestTokens)> {
        let mut open = self.0.lock().ok()?;
        if open.by_id.contains_key(id) {
            return None;
        }
        open.last += 1;
        let number = open.last;
        let tokens = RequestTokens::default();
        let request = OpenRequest { number, tokens: tokens.clone() };
        open.by_id.insert(id.to_owned(), request);
        Some((number, tokens))
    }

    /// The number of a request that goes on under another id. What had happened to the first by then
    /// has happened to it too.
    pub(super) fn go_on(&self, id: &str, first: &RequestTokens) -> Option<(u64, RequestTokens)> {
        let (number, tokens) = self.begin(id)?;
        // What happens to the first from here on happens to an id that is known.
        if first.cancellation.is_cancelled() {
            tokens.cancellation.cancel();
        }
        Some((number, tokens))
    }

    /// True while the request is still to be answered.
    pub(super) fn is_open(&self, id: &str, number: u64) -> bool {
        let open = self.0.lock();
        open.is_ok_and(|open| open.by_id.get(id).is_some_and(|request| request.number == number))
    }

    /// True when the request is still to be answered.
    pub(super) fn end(&self, id: &str, number: u64) -> bool {
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
            request.tokens.cancellation.cancel();
            request.tokens.abandoned.cancel();
        }
    }

    /// Ends every wait for an approval; every request is still answered.
    pub(super) fn stop_waiting(&self) {
        if let Ok(open) = self.0.lock() {
            open.by_id.values().for_each(|request| request.tokens.cancellation.cancel());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_request_never_ends_the_next_of_the_same_id() {
        let open = OpenRequests::default();
        let (first, _) = open.begin("7").unwrap();
        assert!(open.begin("7").is_none(), "it is under way");
        open.cancel("7");
        let (second, _) = open.begin("7").unwrap();
        assert!(!open.end("7", first), "cancelled");
        assert!(open.end("7", second));
        assert!(!open.end("7", second), "answered already");
    }

    #[test]
    fn cancelling_and_the_end_of_the_session_both_end_the_wait() {
        let open = OpenRequests::default();
        let (_, cancelled) = open.begin("1").unwrap();
        let (number, waiting) = open.begin("2").unwrap();
        open.cancel("1");
        let ended = |tokens: &RequestTokens| {
            (tokens.cancellation.is_cancelled(), tokens.abandoned.is_cancelled())
        };
        assert_eq!((ended(&cancelled), ended(&waiting)), ((true, true), (false, false)));
        open.stop_waiting();
        assert_eq!(ended(&waiting), (true, false), "its call goes on");
        assert!(open.end("2", number), "it is still answered");
    }

    #[test]
    fn what_goes_on_after_the_end_of_the_session_waits_for_nobody() {
        let open = OpenRequests::default();
        let (_, first) = open.begin("1").unwrap();
        let (_, early) = open.go_on("task_1", &first).unwrap();
        assert!(!early.cancellation.is_cancelled());
        open.stop_waiting();
        assert!(early.cancellation.is_cancelled());
        let (_, late) = open.go_on("task_2", &first).unwrap();
        assert!(late.cancellation.is_cancelled());
        assert!(open.go_on("task_2", &first).is_none(), "it is under way");
    }
}
