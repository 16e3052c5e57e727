//! The place of a caller that waits until its request may be sent.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A caller in the queue for a permit.
pub(super) struct QueuePosition<'a> {
    count: &'a AtomicUsize,
    /// How many callers wait before it.
    pub(super) ahead: usize,
}

impl<'a> QueuePosition<'a> {
    pub(super) fn join(count: &'a AtomicUsize) -> Self {
        Self { count, ahead: count.fetch_add(1, Ordering::AcqRel) }
    }
}

impl Drop for QueuePosition<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}
