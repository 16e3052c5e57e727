//! The items that a build left out, in pieces that builds share.

use std::fmt;
use std::sync::Arc;

use crate::compile::ItemKind;
use crate::compile::stats::DropReason;

/// How many places of the log a piece is for.
pub(super) const SPAN: usize = 32;

/// One item that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedItem {
    /// Its id.
    pub item_id: Arc<str>,
    /// Why.
    pub reason: DropReason,
}

/// What was left out of a few neighbours.
#[derive(Debug, Default)]
pub(super) struct Piece {
    items: Vec<DroppedItem>,
    pub(super) reasons: [usize; DropReason::ALL.len()],
    /// For which there was no room, by kind.
    pub(super) no_room: [usize; ItemKind::ALL.len()],
}

impl Piece {
    pub(super) fn push(&mut self, item_id: Arc<str>, kind: ItemKind, reason: DropReason) {
        self.items.push(DroppedItem { item_id, reason });
        if let Some(count) = self.reasons.get_mut(reason as usize) {
            *count += 1;
        }
        let no_room = self.no_room.get_mut(kind as usize);
        if let Some(count) = no_room.filter(|_| reason == DropReason::Budget) {
            *count += 1;
        }
    }
}

/// Items that were left out, each with its reason, in the order of the log. A copy is cheap: what
/// did not change from one build to the next is there once.
#[derive(Clone, Default)]
pub struct DroppedItems {
    pieces: Vec<Arc<Piece>>,
    len: usize,
}

impl DroppedItems {
    /// The items, in the order of the log.
    pub fn iter(&self) -> impl Iterator<Item = &DroppedItem> {
        self.pieces.iter().flat_map(|piece| &piece.items)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn of(pieces: &[Arc<Piece>]) -> Self {
        let len = pieces.iter().map(|piece| piece.items.len()).sum();
        Self { pieces: pieces.to_vec(), len }
    }

    pub(super) fn pieces(&self) -> &[Arc<Piece>] {
        &self.pieces
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
