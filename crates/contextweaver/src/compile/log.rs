//! The items of a conversation, in the order in which they came.

use std::collections::BTreeMap;

use crate::catalog::shown;
use crate::compile::{ContextItem, ItemKind};
use crate::error::LogError;

/// Most items in one log.
pub const MAX_LOG_ITEMS: usize = 100_000;
/// Most bytes of one item.
pub const MAX_ITEM_BYTES: usize = 4 * 1024 * 1024;
/// Most bytes of all items.
pub const MAX_BYTES: usize = 256 * 1024 * 1024;

/// An append-only list of items. An item can only hang on one that came before it, so that
/// neither a cycle nor a result without its call can arise.
#[derive(Debug, Clone, Default)]
pub struct ContextLog {
    items: Vec<ContextItem>,
    parents: Vec<Option<usize>>,
    places: BTreeMap<String, usize>,
    bytes: usize,
}

impl ContextLog {
    /// A log without items.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an item at the end.
    ///
    /// # Errors
    /// [`LogError`], when the id is taken, the item it hangs on is not there, a result does not
    /// hang on a call, or a bound is reached. The log is then as it was.
    pub fn push(&mut self, item: ContextItem) -> Result<(), LogError> {
        let id = || shown(item.id());
        if self.places.contains_key(item.id()) {
            return Err(LogError::Duplicate { id: id() });
        }
        if self.items.len() >= MAX_LOG_ITEMS {
            return Err(LogError::Full { max: MAX_LOG_ITEMS, unit: "items" });
        }
        let bytes = item.bytes();
        if bytes > MAX_ITEM_BYTES {
            return Err(LogError::TooLarge { id: id(), size: bytes, max: MAX_ITEM_BYTES });
        }
        if self.bytes + bytes > MAX_BYTES {
            return Err(LogError::Full { max: MAX_BYTES, unit: "bytes" });
        }
        let parent = item.parent().map(|parent| self.parent_place(&item, parent)).transpose()?;
        self.bytes += bytes;
        self.places.insert(item.id().to_owned(), self.items.len());
        self.parents.push(parent);
        self.items.push(item);
        Ok(())
    }

    /// The item with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&ContextItem> {
        self.places.get(id).and_then(|place| self.at(*place))
    }

    /// The items, oldest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ContextItem> {
        self.items.iter()
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn at(&self, place: usize) -> Option<&ContextItem> {
        self.items.get(place)
    }

    pub(super) fn parent_of(&self, place: usize) -> Option<usize> {
        self.parents.get(place).copied().flatten()
    }

    fn parent_place(&self, item: &ContextItem, parent: &str) -> Result<usize, LogError> {
        let unknown = || LogError::UnknownParent { id: shown(item.id()), parent: shown(parent) };
        let place = self.places.get(parent).copied().ok_or_else(unknown)?;
        let is_call = self.at(place).is_some_and(|parent| parent.kind() == ItemKind::ToolCall);
        if item.kind() == ItemKind::ToolResult && !is_call {
            return Err(unknown());
        }
        Ok(place)
    }
}
