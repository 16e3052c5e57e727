//! The identity of one instance of a server.

use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Identifies one instance of a server. The instance that replaces another has an id of its own, so
/// that what the old one still says is taken for nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct InstanceId(u64);

impl InstanceId {
    /// An id that no other instance in this process has.
    pub(crate) fn next() -> Self {
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
