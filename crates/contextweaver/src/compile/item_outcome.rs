//! The outcome of an item in a build.

use crate::compile::stats::DropReason;

/// The outcome of an item, as far as the stages of a build have decided it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemOutcome {
    /// The item is not a candidate.
    Absent,
    /// No stage has dropped the item.
    Kept,
    /// The item was left out.
    Dropped(DropReason),
}
