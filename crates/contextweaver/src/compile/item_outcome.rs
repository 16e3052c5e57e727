//! The outcome of an item in a build.

use crate::compile::stats::DropReason;

/// How far an item has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemOutcome {
    /// It is no candidate.
    Absent,
    /// Nothing has spoken against it.
    Kept,
    /// It was left out.
    Dropped(DropReason),
}
