//! Counts what came of approval requests and signed files, for operators.

use std::sync::atomic::{AtomicU64, Ordering};

use weaver_types::EventKind;

/// What came of approval requests and signed files since the kernel was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ApprovalCounts {
    /// Requests that enough people granted.
    pub granted: u64,
    /// Requests that somebody refused.
    pub denied: u64,
    /// Requests that outlived their deadline.
    pub expired: u64,
    /// Requests that were taken back.
    pub revoked: u64,
    /// Requests that gave way to others, under another policy.
    pub superseded: u64,
    /// Signed files that did not count.
    pub rejected: u64,
}

/// The counters behind [`ApprovalCounts`].
#[derive(Debug, Default)]
pub(crate) struct ApprovalCounters {
    granted: AtomicU64,
    denied: AtomicU64,
    expired: AtomicU64,
    revoked: AtomicU64,
    superseded: AtomicU64,
    rejected: AtomicU64,
}

impl ApprovalCounters {
    /// Counts an event that was committed.
    pub(crate) fn count(&self, kind: EventKind) {
        let counter = match kind {
            EventKind::ApprovalGranted => &self.granted,
            EventKind::ApprovalDenied => &self.denied,
            EventKind::ApprovalExpired => &self.expired,
            EventKind::ApprovalRevoked => &self.revoked,
            EventKind::ApprovalSuperseded => &self.superseded,
            EventKind::ApprovalRejected => &self.rejected,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> ApprovalCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ApprovalCounts {
            granted: read(&self.granted),
            denied: read(&self.denied),
            expired: read(&self.expired),
            revoked: read(&self.revoked),
            superseded: read(&self.superseded),
            rejected: read(&self.rejected),
        }
    }
}
