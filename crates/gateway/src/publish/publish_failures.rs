//! Counts failures to sign or to deliver checkpoints.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many attempts failed since the gateway began.
#[derive(Debug, Default)]
pub(crate) struct PublishFailures {
    signing: AtomicU64,
    publishing: AtomicU64,
}

impl PublishFailures {
    pub(super) fn count_signing(&self) {
        self.signing.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_publishing(&self) {
        self.publishing.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn signing(&self) -> u64 {
        self.signing.load(Ordering::Relaxed)
    }

    pub(crate) fn publishing(&self) -> u64 {
        self.publishing.load(Ordering::Relaxed)
    }
}
