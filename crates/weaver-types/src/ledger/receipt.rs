//! Receipts: the result of a commit.

use std::fmt;
use std::sync::Arc;

use super::{Durability, TreeHead};
use crate::time::Timestamp;

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitReceipt {
    /// The sequence number of the batch's first event; `None` without events.
    pub first_seq: Option<u64>,
    /// The time that the ledger assigned to the events.
    pub at: Timestamp,
    /// The durability that was reached.
    pub durability: Durability,
    /// The head right after this batch's commit group.
    pub head: LazyTreeHead,
}

/// Computes the head of a log at a size that it has or had.
pub type HeadSource = Arc<dyn Fn(u64) -> TreeHead + Send + Sync>;

/// The head right after a batch. Its value is fixed from the start, but computing the root takes
/// several hashes, so a ledger may defer that to the first caller who asks.
#[derive(Clone)]
pub struct LazyTreeHead(HeadState);

#[derive(Clone)]
enum HeadState {
    Known(TreeHead),
    Deferred { size: u64, heads: HeadSource },
}

impl LazyTreeHead {
    /// A head whose root is computed on demand. `heads` must return the same value every time.
    #[must_use]
    pub fn lazy(size: u64, heads: HeadSource) -> Self {
        Self(HeadState::Deferred { size, heads })
    }

    /// The number of events in the log at this head.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.0 {
            HeadState::Known(head) => head.size,
            HeadState::Deferred { size, .. } => *size,
        }
    }

    /// The head itself.
    #[must_use]
    pub fn head(&self) -> TreeHead {
        match &self.0 {
            HeadState::Known(head) => head.clone(),
            HeadState::Deferred { size, heads } => heads(*size),
        }
    }
}

impl From<TreeHead> for LazyTreeHead {
    fn from(head: TreeHead) -> Self {
        Self(HeadState::Known(head))
    }
}

impl PartialEq for LazyTreeHead {
    fn eq(&self, other: &Self) -> bool {
        self.head() == other.head()
    }
}

impl Eq for LazyTreeHead {}

impl PartialEq<TreeHead> for LazyTreeHead {
    fn eq(&self, other: &TreeHead) -> bool {
        self.head() == *other
    }
}

impl fmt::Debug for LazyTreeHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::id::LogId;

    #[test]
    fn a_head_is_the_same_whether_it_was_known_or_is_computed() {
        let log = LogId::parse("log_1").unwrap();
        let root = Digest::from_bytes([7; 32]);
        let head = move |size| TreeHead { log: log.clone(), size, root };
        let known = LazyTreeHead::from(head(3));
        let later = LazyTreeHead::lazy(3, Arc::new(head));
        assert_eq!(known, later);
        assert_eq!((known.size(), later.size()), (3, 3));
        assert_eq!(later, known.head());
        assert_eq!(format!("{later:?}"), format!("{known:?}"));
        let root = Digest::from_bytes([8; 32]);
        let other = LazyTreeHead::lazy(3, Arc::new(move |_| TreeHead { root, ..known.head() }));
        assert_ne!(other, later);
    }
}
