//! An estimate of whether several callers commit at the same time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Every so many commits a caller yields although it seems to be alone, to find out whether it is. A
/// prime, so that among callers that take turns it is not always the last of them.
const PROBE_INTERVAL: usize = 13;

/// Whether several callers were there at the last commit. It decides whether a caller yields before
/// it commits: with several, one commit serves all that are ready; alone, yielding is wasted time.
#[derive(Debug, Default)]
pub(super) struct CallerEstimate {
    has_several: AtomicBool,
    /// Callers that have yielded since a caller led the last commit.
    yielded: AtomicUsize,
    /// How many callers have asked whether to yield.
    asked: AtomicUsize,
}

impl CallerEstimate {
    /// Whether a caller should let others submit their batches before it commits.
    pub(super) fn should_yield(&self) -> bool {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let yields =
            self.has_several.load(Ordering::Relaxed) || asked.is_multiple_of(PROBE_INTERVAL);
        if yields {
            self.yielded.fetch_add(1, Ordering::Relaxed);
        }
        yields
    }

    /// A caller commits whatever was submitted.
    pub(super) fn note_commit(&self) {
        let several = self.yielded.swap(0, Ordering::Relaxed) > 1;
        self.has_several.store(several, Ordering::Relaxed);
    }

    /// A caller found another one committing, or its batch committed by another.
    pub(super) fn note_other_caller(&self) {
        self.has_several.store(true, Ordering::Relaxed);
    }
}
