//! A router that can be changed while others read it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use weaver_types::CapabilityId;

use super::Router;
use crate::catalog::SelectableItem;
use crate::error::CatalogError;

/// The number of changes after which a merge is worthwhile.
const MERGE_THRESHOLD: usize = 256;

/// A router that can be changed while others read it.
///
/// A reader takes an immutable snapshot and may keep it without blocking anybody. Changes are made one
/// after the other. After every few hundred changes the host has to call [`LiveRouter::merge`] on a
/// background thread; readers and writers continue meanwhile.
#[derive(Debug)]
pub struct LiveRouter {
    /// Locked only to copy or replace the pointer.
    current: RwLock<Arc<Router>>,
    /// The changes since a merge began, which are applied to its result; `None` if no merge is running.
    /// This lock also serialises writers.
    changes_during_merge: Mutex<Option<Vec<Change>>>,
}

#[derive(Debug)]
enum Change {
    Put(Box<SelectableItem>),
    Remove(CapabilityId),
}

impl LiveRouter {
    /// A live router that starts with this one.
    #[must_use]
    pub fn new(router: Router) -> Self {
        Self { current: RwLock::new(Arc::new(router)), changes_during_merge: Mutex::new(None) }
    }

    /// The current router.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Router> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds an item, or replaces the one with its id.
    ///
    /// # Errors
    /// As [`Router::with_item`]; nothing is changed then.
    pub fn put(&self, item: SelectableItem) -> Result<(), CatalogError> {
        let mut since = self.lock_writers();
        let new = self.snapshot().with_item(item.clone())?;
        if let Some(changes) = since.as_mut() {
            changes.push(Change::Put(Box::new(item)));
        }
        self.publish(new);
        Ok(())
    }

    /// Removes an item. Returns whether it existed.
    pub fn remove(&self, id: &CapabilityId) -> bool {
        let mut since = self.lock_writers();
        let Some(new) = self.snapshot().without_item(id) else { return false };
        if let Some(changes) = since.as_mut() {
            changes.push(Change::Remove(id.clone()));
        }
        self.publish(new);
        true
    }

    /// Whether a merge is worthwhile.
    #[must_use]
    pub fn should_merge(&self) -> bool {
        self.snapshot().change_count() >= MERGE_THRESHOLD
    }

    /// Rebuilds the index, including changes that are made meanwhile. Returns `false` without doing
    /// anything if a merge is already running.
    ///
    /// # Errors
    /// As [`Router::new`]; the router is then unchanged.
    pub fn merge(&self) -> Result<bool, CatalogError> {
        let old = {
            let mut since = self.lock_writers();
            if since.is_some() {
                return Ok(false);
            }
            *since = Some(Vec::new());
            self.snapshot()
        };
        let merged = old.merged();
        let mut since = self.lock_writers();
        let changes = since.take().unwrap_or_default();
        let mut new = merged?;
        for change in changes {
            new = match change {
                Change::Put(item) => new.with_item(*item)?,
                Change::Remove(id) => new.without_item(&id).unwrap_or(new),
            };
        }
        self.publish(new);
        Ok(true)
    }

    fn lock_writers(&self) -> MutexGuard<'_, Option<Vec<Change>>> {
        self.changes_during_merge.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, new: Router) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
    }
}
