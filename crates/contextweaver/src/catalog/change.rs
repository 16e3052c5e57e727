//! Edits of a catalog, and a catalog that can be edited while others read it.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use weaver_types::CapabilityId;

use crate::catalog::{Catalog, SelectableItem, printable};
use crate::error::CatalogError;

/// One edit of a catalog. An index over the catalog applies the same edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogChange {
    /// Adds an item whose id is free.
    Add(SelectableItem),
    /// Replaces the item that has the same id.
    Change(SelectableItem),
    /// Removes the item with this id.
    Remove(CapabilityId),
}

impl CatalogChange {
    /// The id of the item that is edited.
    #[must_use]
    pub fn id(&self) -> &CapabilityId {
        match self {
            Self::Add(item) | Self::Change(item) => &item.id,
            Self::Remove(id) => id,
        }
    }
}

impl Catalog {
    /// Applies the edits in order, all of them or none. Clones of the catalog are not affected. The
    /// cost of an edit hardly depends on the size of the catalog: an edit copies one chunk of items
    /// and one pointer per chunk.
    ///
    /// # Errors
    /// [`CatalogError`] for the first edit that cannot be applied: an id that is taken or missing,
    /// a field that exceeds its bound, a full catalog. The catalog is then unchanged.
    pub fn apply(
        &mut self,
        changes: impl IntoIterator<Item = CatalogChange>,
    ) -> Result<(), CatalogError> {
        let mut next = self.clone();
        for change in changes {
            next.apply_one(change)?;
        }
        *self = next;
        Ok(())
    }

    fn apply_one(&mut self, change: CatalogChange) -> Result<(), CatalogError> {
        let absent = |id: &CapabilityId| CatalogError::Absent { id: printable(id.as_str()) };
        match change {
            CatalogChange::Add(item) => self.insert(item),
            CatalogChange::Change(item) => {
                item.check_bounds()?;
                if self.get(&item.id).is_none() {
                    return Err(absent(&item.id));
                }
                self.items.insert_or_replace(Arc::new(item));
                Ok(())
            }
            CatalogChange::Remove(id) => match self.items.remove(&id) {
                Some(_) => Ok(()),
                None => Err(absent(&id)),
            },
        }
    }
}

/// A catalog for many readers and a few writers. A reader takes a snapshot and may keep it. A
/// writer edits a copy and then replaces the current snapshot.
///
/// ```
/// use contextweaver::catalog::{Catalog, CatalogChange, LiveCatalog, SelectableItem};
/// use contextweaver::types::CapabilityId;
///
/// let live = LiveCatalog::new(Catalog::new());
/// let before = live.snapshot();
/// let item = SelectableItem::new(CapabilityId::parse("fs.read")?, "read", "Read a file");
/// live.apply([CatalogChange::Add(item)])?;
/// assert_eq!((before.len(), live.snapshot().len()), (0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct LiveCatalog {
    current: RwLock<Arc<Catalog>>,
    /// Held by the writer that prepares the next snapshot.
    write_lock: Mutex<()>,
}

impl LiveCatalog {
    /// A live catalog that starts with this content.
    #[must_use]
    pub fn new(catalog: Catalog) -> Self {
        Self { current: RwLock::new(Arc::new(catalog)), write_lock: Mutex::new(()) }
    }

    /// The current catalog.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Catalog> {
        // Nothing can panic while this lock is held, so even a poisoned one holds a complete catalog.
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Applies the edits and returns the new snapshot. Readers are not blocked meanwhile; other
    /// writers wait.
    ///
    /// # Errors
    /// As [`Catalog::apply`]; the catalog is then unchanged.
    pub fn apply(
        &self,
        changes: impl IntoIterator<Item = CatalogChange>,
    ) -> Result<Arc<Catalog>, CatalogError> {
        let _one = self.write_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Catalog::clone(&self.snapshot());
        next.apply(changes)?;
        let next = Arc::new(next);
        let mut slot = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *slot = Arc::clone(&next);
        Ok(next)
    }
}
