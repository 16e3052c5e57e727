//! A router that changes while it is read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use weaver_types::CapabilityId;

use super::Router;
use crate::catalog::SelectableItem;
use crate::error::CatalogError;

/// So many changes are worth a merge.
const MERGE_AT: usize = 256;

/// A router that changes while others read it.
///
/// A reader takes a snapshot and keeps it as long as it likes: no change touches it, and nobody
/// waits for its end. Changes are made one after the other. Every few hundred of them somebody has
/// to call [`LiveRouter::merge`], on a thread that nobody waits for; readers and writers go on
/// meanwhile.
#[derive(Debug)]
pub struct LiveRouter {
    /// Held only as long as it takes to copy or to replace one pointer.
    current: RwLock<Arc<Router>>,
    /// What was done since a merge began; `None` where none is under way.
    since: Mutex<Option<Vec<Change>>>,
}

#[derive(Debug)]
enum Change {
    Put(Box<SelectableItem>),
    Remove(CapabilityId),
}

impl LiveRouter {
    /// A live router that begins with this one.
    #[must_use]
    pub fn new(router: Router) -> Self {
        Self { current: RwLock::new(Arc::new(router)), since: Mutex::new(None) }
    }

    /// The router as it is now.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Router> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds an item, or puts it in the place of the one with its id.
    ///
    /// # Errors
    /// As [`Router::with`]; nothing has changed then.
    pub fn put(&self, item: SelectableItem) -> Result<(), CatalogError> {
        let mut since = self.writing();
        let new = self.snapshot().with(item.clone())?;
        if let Some(changes) = since.as_mut() {
            changes.push(Change::Put(Box::new(item)));
        }
        self.replace(new);
        Ok(())
    }

    /// Takes an item away; tells whether it was there.
    pub fn remove(&self, id: &CapabilityId) -> bool {
        let mut since = self.writing();
        let Some(new) = self.snapshot().without(id) else { return false };
        if let Some(changes) = since.as_mut() {
            changes.push(Change::Remove(id.clone()));
        }
        self.replace(new);
        true
    }

    /// Whether a merge is worth its while.
    #[must_use]
    pub fn wants_merge(&self) -> bool {
        self.snapshot().changes() >= MERGE_AT
    }

    /// Builds the index anew, with what changes meanwhile. Where a merge is under way already, it
    /// does nothing and gives `false`.
    ///
    /// # Errors
    /// As [`Router::new`]; the router stays as it was.
    pub fn merge(&self) -> Result<bool, CatalogError> {
        let old = {
            let mut since = self.writing();
            if since.is_some() {
                return Ok(false);
            }
            *since = Some(Vec::new());
            self.snapshot()
        };
        let merged = old.merged();
        let mut since = self.writing();
        let changes = since.take().unwrap_or_default();
        let mut new = merged?;
        for change in changes {
            new = match change {
                Change::Put(item) => new.with(*item)?,
                Change::Remove(id) => new.without(&id).unwrap_or(new),
            };
        }
        self.replace(new);
        Ok(true)
    }

    fn writing(&self) -> MutexGuard<'_, Option<Vec<Change>>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, new: Router) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
    }
}
