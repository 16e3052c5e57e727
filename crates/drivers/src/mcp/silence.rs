//! Recognises a server that has fallen silent: it runs and reads, and answers nothing any more.
//!
//! A caller who gave up after a long wait, in which nothing at all was heard, makes the server
//! suspect; a shorter wait does not, since callers give up for reasons of their own. Anything that the
//! server says clears it. Before a suspect server is used again it is pinged, and only if it does not
//! answer that either, its connection is given up: one that was merely busy goes on, and so does one
//! for which another caller still waits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// Counts what a server says, and knows whether a request waited in vain since.
#[derive(Debug)]
pub(crate) struct SilenceWatch {
    /// How long a request has to have waited in silence before its server is suspect.
    silent_wait: Duration,
    messages: AtomicU64,
    /// One more than the messages at the moment when a request was given up; 0 for none.
    suspect: AtomicU64,
}

/// A request that was sent, and what had been heard by then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentRequest {
    at: Instant,
    messages: u64,
}

impl SilenceWatch {
    pub(crate) fn new(silent_wait: Duration) -> Self {
        Self { silent_wait, messages: AtomicU64::new(0), suspect: AtomicU64::new(0) }
    }

    /// Counts a message of the server.
    pub(crate) fn note_message(&self) {
        self.messages.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes that a request is sent now.
    pub(crate) fn note_request(&self) -> SentRequest {
        SentRequest { at: Instant::now(), messages: self.messages.load(Ordering::Acquire) }
    }

    /// Notes that nobody waits for the answer to a request any more.
    pub(crate) fn note_abandoned(&self, sent: SentRequest) {
        let messages = self.messages.load(Ordering::Acquire);
        if messages == sent.messages && sent.at.elapsed() >= self.silent_wait {
            self.suspect.store(messages.saturating_add(1), Ordering::Release);
        }
    }

    /// Whether a request waited in vain, and nothing was heard since.
    pub(crate) fn is_suspect(&self) -> bool {
        let messages = self.messages.load(Ordering::Acquire);
        self.suspect.load(Ordering::Acquire) == messages.saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENT_WAIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn only_a_long_wait_in_silence_makes_a_server_suspect_until_it_says_something() {
        let watch = SilenceWatch::new(SILENT_WAIT);
        assert!(!watch.is_suspect());
        watch.note_abandoned(watch.note_request());
        assert!(!watch.is_suspect(), "the caller did not wait");
        let sent = watch.note_request();
        tokio::time::advance(SILENT_WAIT).await;
        watch.note_message();
        watch.note_abandoned(sent);
        assert!(!watch.is_suspect(), "it said something meanwhile");
        let sent = watch.note_request();
        tokio::time::advance(SILENT_WAIT).await;
        watch.note_abandoned(sent);
        assert!(watch.is_suspect());
        watch.note_message();
        assert!(!watch.is_suspect());
    }
}
