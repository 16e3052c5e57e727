//! The catalog: the items that a router ranks.
//!
//! A host fills a [`Catalog`] item by item, or from a file in one of the formats of [`load`].
//! [`CatalogChange`]s edit it; a clone shares everything that did not change. [`lint()`] reports
//! problems of its items, and a [`Snapshot`] is its exact content as bytes with a digest.

mod bounds;
mod change;
mod chunked_items;
mod id_encoding;
mod item;
mod item_json;
mod kind;
mod lint;
pub mod load;
mod schema;
mod snapshot;
mod write;

use std::sync::Arc;

use weaver_text::escape;
use weaver_types::CapabilityId;

use crate::error::CatalogError;

pub use bounds::{MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH, MAX_SCHEMA_PROPERTIES};
pub use change::{CatalogChange, LiveCatalog};
pub use chunked_items::Items;
pub use item::{Parameter, SelectableItem};
pub use kind::ItemKind;
pub use lint::{Finding, Severity, lint};
pub use snapshot::Snapshot;
pub use write::{WrittenCatalog, write};

use chunked_items::ChunkedItems;

/// The most items in one catalog.
pub const MAX_ITEMS: usize = 200_000;

/// Items by id. The order in which they were added makes no difference.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    items: ChunkedItems,
}

impl Catalog {
    /// A catalog without items.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A catalog of these items.
    ///
    /// # Errors
    /// As [`Catalog::insert`], for the first item that cannot be added.
    pub fn from_items(
        items: impl IntoIterator<Item = SelectableItem>,
    ) -> Result<Self, CatalogError> {
        let mut catalog = Self::new();
        for item in items {
            catalog.insert(item)?;
        }
        Ok(catalog)
    }

    /// Adds an item.
    ///
    /// # Errors
    /// [`CatalogError`] if the id is taken, a field exceeds its bound, or the catalog is full. The
    /// catalog is then unchanged.
    pub fn insert(&mut self, item: SelectableItem) -> Result<(), CatalogError> {
        item.check_bounds()?;
        if self.items.get(&item.id).is_some() {
            return Err(CatalogError::Duplicate { id: printable(item.id.as_str()) });
        }
        if self.items.len() >= MAX_ITEMS {
            return Err(CatalogError::Full { max: MAX_ITEMS });
        }
        self.items.insert_or_replace(Arc::new(item));
        Ok(())
    }

    /// Reads one item per line: a JSON object with `id` and the other keys that [`load`] describes.
    /// Blank lines are skipped, unknown keys ignored.
    ///
    /// # Errors
    /// [`CatalogError::At`] for the first line that is not an item, with its number.
    pub fn from_jsonl(text: &str) -> Result<Self, CatalogError> {
        load::read(text, load::LoadOptions::for_format(load::CatalogFormat::JsonLines))?
            .into_catalog()
    }

    /// The item with this id.
    #[must_use]
    pub fn get(&self, id: &CapabilityId) -> Option<&SelectableItem> {
        self.items.get(id).map(Arc::as_ref)
    }

    /// The items, in order of id.
    pub fn iter(&self) -> Items<'_> {
        self.items.iter()
    }

    /// The items in order of id, as shared pointers that outlive the catalog.
    pub(crate) fn iter_arcs(&self) -> impl Iterator<Item = &Arc<SelectableItem>> {
        self.items.iter_arcs()
    }

    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the catalog has no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.len() == 0
    }
}

/// An id or word for a message: escaped and shortened.
pub(crate) fn printable(id: &str) -> String {
    escape::excerpt(id, 80)
}
