//! A catalog that changes while others read it.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use weaver_types::CapabilityId;

use crate::catalog::{Catalog, SelectableItem, shown};
use crate::error::CatalogError;

/// One edit of a catalog. An index that follows the catalog takes the same edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogChange {
    /// A new item; its id must be free.
    Add(SelectableItem),
    /// Another version of an item that is there.
    Change(SelectableItem),
    /// An item goes.
    Remove(CapabilityId),
}

impl CatalogChange {
    /// The id that it is about.
    #[must_use]
    pub fn id(&self) -> &CapabilityId {
        match self {
            Self::Add(item) | Self::Change(item) => &item.id,
            Self::Remove(id) => id,
        }
    }
}

impl Catalog {
    /// Makes the edits in their order, all of them or none. Clones of the catalog keep what they
    /// had. One edit costs no more at 100,000 items than at 1,000, but for a few hundred words.
    ///
    /// # Errors
    /// [`CatalogError`] for the first edit that cannot be made: an id that is taken or not there,
    /// a field over its bound, a full catalog. The catalog is then as it was.
    pub fn apply(
        &mut self,
        changes: impl IntoIterator<Item = CatalogChange>,
    ) -> Result<(), CatalogError> {
        let mut next = self.clone();
        for change in changes {
            next.one(change)?;
        }
        *self = next;
        Ok(())
    }

    fn one(&mut self, change: CatalogChange) -> Result<(), CatalogError> {
        let absent = |id: &CapabilityId| CatalogError::Absent { id: shown(id.as_str()) };
        match change {
            CatalogChange::Add(item) => self.insert(item),
            CatalogChange::Change(item) => {
                item.check()?;
                if self.get(&item.id).is_none() {
                    return Err(absent(&item.id));
                }
                self.items.put(Arc::new(item));
                Ok(())
            }
            CatalogChange::Remove(id) => match self.items.remove(&id) {
                Some(_) => Ok(()),
                None => Err(absent(&id)),
            },
        }
    }
}

/// A catalog for many readers and some writers. A reader takes a snapshot and keeps it as long as
/// it likes; a writer prepares the next one beside it and swaps.
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
    /// Held by the one who prepares the next snapshot.
    writer: Mutex<()>,
}

impl LiveCatalog {
    /// Begins with this catalog.
    #[must_use]
    pub fn new(catalog: Catalog) -> Self {
        Self { current: RwLock::new(Arc::new(catalog)), writer: Mutex::new(()) }
    }

    /// The catalog as it is now.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Catalog> {
        // Nothing can panic while the slot is held, so a poisoned one holds a whole catalog.
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the edits and gives the new snapshot. Readers go on meanwhile; another writer waits.
    ///
    /// # Errors
    /// As [`Catalog::apply`]; nothing is changed then.
    pub fn apply(
        &self,
        changes: impl IntoIterator<Item = CatalogChange>,
    ) -> Result<Arc<Catalog>, CatalogError> {
        let _one = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Catalog::clone(&self.snapshot());
        next.apply(changes)?;
        let next = Arc::new(next);
        let mut slot = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *slot = Arc::clone(&next);
        Ok(next)
    }
}
