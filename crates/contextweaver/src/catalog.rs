//! What can be chosen from: the items a router ranks.

mod item;
mod jsonl;
mod schema;

use std::collections::BTreeMap;

use weaver_text::escape;
use weaver_types::CapabilityId;

use crate::error::CatalogError;

pub use item::{Parameter, SelectableItem};

/// Most items in one catalog.
pub const MAX_ITEMS: usize = 200_000;

/// Items by id. The order in which they were added leaves no trace.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    items: BTreeMap<CapabilityId, SelectableItem>,
}

impl Catalog {
    /// A catalog without items.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an item.
    ///
    /// # Errors
    /// [`CatalogError`], when the id is taken, a field is over its bound, or the catalog is full.
    /// The catalog is then as it was.
    pub fn insert(&mut self, item: SelectableItem) -> Result<(), CatalogError> {
        item.check()?;
        if self.items.contains_key(&item.id) {
            return Err(CatalogError::Duplicate { id: shown(item.id.as_str()) });
        }
        if self.items.len() >= MAX_ITEMS {
            return Err(CatalogError::Full { max: MAX_ITEMS });
        }
        self.items.insert(item.id.clone(), item);
        Ok(())
    }

    /// Reads one item per line: `{"id", "name", "description", "namespace"?, "tags"?, "schema"?,
    /// "examples"?}`. Blank lines are skipped, unknown keys ignored. An id that holds blanks or
    /// hidden characters is percent-encoded; [`SelectableItem::source_id`] keeps it as written.
    ///
    /// # Errors
    /// [`CatalogError::Line`] for the first line that is no item, with its number.
    pub fn from_jsonl(text: &str) -> Result<Self, CatalogError> {
        jsonl::read(text)
    }

    /// The item with this id.
    #[must_use]
    pub fn get(&self, id: &CapabilityId) -> Option<&SelectableItem> {
        self.items.get(id)
    }

    /// The items in the order of their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &SelectableItem> {
        self.items.values()
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
}

/// An id for a message: visible and short.
pub(crate) fn shown(id: &str) -> String {
    escape::line(escape::truncate(id, 80)).into_owned()
}
