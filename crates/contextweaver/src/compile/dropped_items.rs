//! The items that a build left out, in chunks that builds share.

use std::fmt;
use std::sync::Arc;

use crate::compile::ContextItemKind;
use crate::compile::stats::DropReason;

/// How many consecutive items of the log one chunk covers.
pub(super) const ITEMS_PER_CHUNK: usize = 32;

/// One item that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedItem {
    /// The id of the item.
    pub item_id: Arc<str>,
    /// Why it was left out.
    pub reason: DropReason,
}

/// The dropped items among [`ITEMS_PER_CHUNK`] consecutive items of the log.
#[derive(Debug, Default)]
pub(super) struct DroppedChunk {
    items: Vec<DroppedItem>,
    pub(super) count_by_reason: [usize; DropReason::ALL.len()],
    /// Items dropped because they did not fit, by kind.
    pub(super) over_budget_by_kind: [usize; ContextItemKind::ALL.len()],
}

impl DroppedChunk {
    pub(super) fn push(&mut self, item_id: Arc<str>, kind: ContextItemKind, reason: DropReason) {
        self.items.push(DroppedItem { item_id, reason });
        if let Some(count) = self.count_by_reason.get_mut(reason as usize) {
            *count += 1;
        }
        let over_budget = self.over_budget_by_kind.get_mut(kind as usize);
        if let Some(count) = over_budget.filter(|_| reason == DropReason::Budget) {
            *count += 1;
        }
    }
}

/// Items that were left out, each with its reason, in the order of the log. Cloning is cheap: chunks
/// that did not change from one build to the next are shared.
#[derive(Clone, Default)]
pub struct DroppedItems {
    chunks: Vec<Arc<DroppedChunk>>,
    len: usize,
}

impl DroppedItems {
    /// The items, in the order of the log.
    pub fn iter(&self) -> impl Iterator<Item = &DroppedItem> {
        self.chunks.iter().flat_map(|piece| &piece.items)
    }

    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn from_chunks(chunks: &[Arc<DroppedChunk>]) -> Self {
        let len = chunks.iter().map(|piece| piece.items.len()).sum();
        Self { chunks: chunks.to_vec(), len }
    }

    pub(super) fn chunks(&self) -> &[Arc<DroppedChunk>] {
        &self.chunks
    }
}

impl fmt::Debug for DroppedItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for DroppedItems {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl Eq for DroppedItems {}
