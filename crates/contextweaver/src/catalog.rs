//! What can be chosen from: the items a router ranks.
//!
//! A [`Catalog`] comes from host code, item by item, or from a file in one of the formats of
//! [`load`]. It changes by [`CatalogChange`]s; a clone is a snapshot that shares what did not
//! change. [`lint()`] tells what is wrong with the texts in it, [`Snapshot`] is its exact content as
//! bytes with a digest.

mod bounds;
mod change;
mod chunks;
mod form;
mod item;
mod kind;
mod lint;
pub mod load;
mod schema;
mod snapshot;
mod spelling;
mod write;

use std::sync::Arc;

use weaver_text::escape;
use weaver_types::CapabilityId;

use crate::error::CatalogError;

pub use bounds::{MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH, MAX_SCHEMA_PROPERTIES};
pub use change::{CatalogChange, LiveCatalog};
pub use chunks::Items;
pub use item::{Parameter, SelectableItem};
pub use kind::ItemKind;
pub use lint::{Finding, Severity, lint};
pub use snapshot::Snapshot;
pub use write::{WrittenCatalog, write};

use chunks::Chunks;

/// Most items in one catalog.
pub const MAX_ITEMS: usize = 200_000;

/// Items by id. The order in which they were added leaves no trace.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    items: Chunks,
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
    pub fn of(items: impl IntoIterator<Item = SelectableItem>) -> Result<Self, CatalogError> {
        let mut catalog = Self::new();
        for item in items {
            catalog.insert(item)?;
        }
        Ok(catalog)
    }

    /// Adds an item.
    ///
    /// # Errors
    /// [`CatalogError`], when the id is taken, a field is over its bound, or the catalog is full.
    /// The catalog is then as it was.
    pub fn insert(&mut self, item: SelectableItem) -> Result<(), CatalogError> {
        item.check()?;
        if self.items.get(&item.id).is_some() {
            return Err(CatalogError::Duplicate { id: shown(item.id.as_str()) });
        }
        if self.items.len() >= MAX_ITEMS {
            return Err(CatalogError::Full { max: MAX_ITEMS });
        }
        self.items.put(Arc::new(item));
        Ok(())
    }

    /// Reads one item per line: a JSON object with `id`, and as [`load`] says of its other keys.
    /// Blank lines are skipped, unknown keys ignored.
    ///
    /// # Errors
    /// [`CatalogError::At`] for the first line that is no item, with its number.
    pub fn from_jsonl(text: &str) -> Result<Self, CatalogError> {
        load::read(text, load::Source::of(load::CatalogFormat::JsonLines))?.catalog()
    }

    /// The item with this id.
    #[must_use]
    pub fn get(&self, id: &CapabilityId) -> Option<&SelectableItem> {
        self.items.get(id).map(Arc::as_ref)
    }

    /// The items in the order of their ids.
    pub fn iter(&self) -> Items<'_> {
        self.items.iter()
    }

    /// The same, to be kept.
    pub(crate) fn shared(&self) -> impl Iterator<Item = &Arc<SelectableItem>> {
        self.items.shared()
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.len() == 0
    }
}

/// An id for a message: visible and short.
pub(crate) fn shown(id: &str) -> String {
    escape::line(escape::truncate(id, 80)).into_owned()
}
