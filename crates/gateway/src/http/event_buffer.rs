//! Buffers the events of one stream for clients whose connection breaks off.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use weaver_types::RunId;

/// How many events of a stream are kept.
const MAX_EVENTS: usize = 256;
/// How many bytes of events are kept, not counting the latest.
const MAX_BYTES: usize = 1024 * 1024;

/// The events of one stream with their numbers. The oldest are dropped first.
#[derive(Default)]
pub(super) struct EventBuffer {
    state: Mutex<EventState>,
    changed: Notify,
}

#[derive(Default)]
struct EventState {
    last_number: u64,
    /// The number of the latest event that was read.
    last_read: u64,
    events: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
    /// When the stream ended; `None` while it is open.
    ended: Option<Instant>,
    /// The run in which it ended, of an answer.
    run: Option<RunId>,
}

impl EventBuffer {
    /// A stream whose first event has the number after `number`.
    pub(super) fn after(number: u64) -> Self {
        let state = EventState { last_number: number, last_read: number, ..EventState::default() };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    /// Adds an event.
    pub(super) fn push(&self, line: Vec<u8>) {
        let mut state = self.lock();
        state.last_number += 1;
        state.bytes = state.bytes.saturating_add(line.len());
        let number = state.last_number;
        state.events.push_back((number, line));
        while state.events.len() > MAX_EVENTS || state.bytes > MAX_BYTES && state.events.len() > 1 {
            let Some((_, oldest)) = state.events.pop_front() else { break };
            state.bytes = state.bytes.saturating_sub(oldest.len());
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Ends the stream.
    pub(super) fn end(&self) {
        self.lock().ended = Some(Instant::now());
        self.changed.notify_waiters();
    }

    /// Ends the stream of an answer, whose results are those of this run.
    pub(super) fn end_in_run(&self, run: Option<RunId>) {
        self.lock().run = run;
        self.end();
    }

    /// The run in which an answer ended.
    pub(super) fn run(&self) -> Option<RunId> {
        self.lock().run.clone()
    }

    /// The time since the stream ended; `None` while it is open.
    pub(super) fn time_since_end(&self) -> Option<Duration> {
        self.lock().ended.map(|ended| ended.elapsed())
    }

    /// How many bytes of events are kept.
    pub(super) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// The number of the latest event that was read.
    pub(super) fn last_read(&self) -> u64 {
        self.lock().last_read
    }

    /// Waits for the next event after `number`; `None` if there will be none.
    pub(super) async fn next_after(&self, number: u64) -> Option<(u64, Vec<u8>)> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no event is missed.
            changed.as_mut().enable();
            {
                let mut state = self.lock();
                let found = state.events.iter().find(|(events, _)| *events > number).cloned();
                match found {
                    Some((number, line)) => {
                        state.last_read = state.last_read.max(number);
                        return Some((number, line));
                    }
                    None if state.ended.is_some() => return None,
                    None => {}
                }
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, EventState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stream_goes_on_after_any_event_until_its_end() {
        let events = EventBuffer::default();
        for word in ["a", "b", "c"] {
            events.push(word.into());
        }
        assert_eq!(events.last_read(), 0);
        assert_eq!(events.next_after(1).await, Some((2, b"b".to_vec())));
        assert_eq!(events.last_read(), 2);
        let waiting = events.next_after(3);
        let ending = async { events.end() };
        assert_eq!(tokio::join!(waiting, ending).0, None);
        assert_eq!(events.next_after(2).await, Some((3, b"c".to_vec())));
        assert_eq!(events.next_after(0).await, Some((1, b"a".to_vec())), "it may be read again");
        assert_eq!(events.last_read(), 3);
        assert!(events.time_since_end().is_some());
    }

    #[tokio::test]
    async fn what_is_kept_is_bounded_and_the_latest_is_always_there() {
        let events = EventBuffer::default();
        for _ in 0..=MAX_EVENTS {
            events.push(b"x".to_vec());
        }
        assert_eq!(events.next_after(0).await.unwrap().0, 2);
        events.push(vec![b'y'; MAX_BYTES + 1]);
        assert_eq!(events.next_after(0).await.unwrap().0, MAX_EVENTS as u64 + 2);
    }
}
