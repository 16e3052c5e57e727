//! The exact tokenizer, with the time that it takes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weaver_benches::measure::now;
use weaver_text::token::{Count, Tiktoken, TokenCounter};

/// `cl100k_base`, watched.
#[derive(Debug, Default)]
pub struct WatchedCounter(AtomicU64);

impl WatchedCounter {
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub fn spent(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

impl TokenCounter for WatchedCounter {
    fn name(&self) -> &str {
        Tiktoken::CL100K.name()
    }

    fn count(&self, text: &str) -> Count {
        // Words of one item are counted too often to be watched.
        if text.len() < 1024 {
            return Tiktoken::CL100K.count(text);
        }
        let start = now();
        let count = Tiktoken::CL100K.count(text);
        let spent = now().saturating_sub(start).as_nanos();
        self.0.fetch_add(u64::try_from(spent).unwrap_or(u64::MAX), Ordering::Relaxed);
        count
    }

    fn is_additive(&self) -> bool {
        true
    }
}
