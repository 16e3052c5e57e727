//! Receipts: what a commit gives back.

use std::fmt;
use std::sync::Arc;

use super::{Durability, Head};
use crate::time::Timestamp;

/// What a commit gives back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The sequence number of the batch's first event; `None` without events.
    pub first_seq: Option<u64>,
    /// The time the ledger gave the events.
    pub at: Timestamp,
    /// How safe it is.
    pub durability: Durability,
    /// The head right after this batch's group.
    pub head: HeadAfter,
}

/// Gives the head of a log at a size that it has or had.
pub type Heads = Arc<dyn Fn(u64) -> Head + Send + Sync>;

/// The head right after a batch. It is fixed from the start; its root takes some hashes, and a
/// ledger may leave them to whoever asks for it first.
#[derive(Clone)]
pub struct HeadAfter(Root);

#[derive(Clone)]
enum Root {
    Known(Head),
    Later { size: u64, heads: Heads },
}

impl HeadAfter {
    /// A head whose root is computed when it is asked for. `heads` gives the same each time.
    #[must_use]
    pub fn later(size: u64, heads: Heads) -> Self {
        Self(Root::Later { size, heads })
    }

    /// How many events the log has after it.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.0 {
            Root::Known(head) => head.size,
            Root::Later { size, .. } => *size,
        }
    }

    /// The head itself.
    #[must_use]
    pub fn head(&self) -> Head {
        match &self.0 {
            Root::Known(head) => head.clone(),
            Root::Later { size, heads } => heads(*size),
        }
    }
}

impl From<Head> for HeadAfter {
    fn from(head: Head) -> Self {
        Self(Root::Known(head))
    }
}

impl PartialEq for HeadAfter {
    fn eq(&self, other: &Self) -> bool {
        self.head() == other.head()
    }
}

impl Eq for HeadAfter {}

impl PartialEq<Head> for HeadAfter {
    fn eq(&self, other: &Head) -> bool {
        self.head() == *other
    }
}

impl fmt::Debug for HeadAfter {
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
        let head = move |size| Head { log: log.clone(), size, root };
        let known = HeadAfter::from(head(3));
        let later = HeadAfter::later(3, Arc::new(head));
        assert_eq!(known, later);
        assert_eq!((known.size(), later.size()), (3, 3));
        assert_eq!(later, known.head());
        assert_eq!(format!("{later:?}"), format!("{known:?}"));
        let root = Digest::from_bytes([8; 32]);
        let other = HeadAfter::later(3, Arc::new(move |_| Head { root, ..known.head() }));
        assert_ne!(other, later);
    }
}
