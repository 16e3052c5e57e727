//! The visibility of items, as decided by the host.

use std::fmt;
use std::sync::Arc;

use crate::catalog::SelectableItem;

type Predicate = dyn Fn(&SelectableItem) -> bool + Send + Sync;

/// A predicate of the host that decides which items are visible. By default all are.
#[derive(Clone, Default)]
pub struct Visibility(Option<Arc<Predicate>>);

impl Visibility {
    /// Shows the items for which the predicate is true. Its answers must not change while a request
    /// is processed.
    pub fn new(sees: impl Fn(&SelectableItem) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(sees)))
    }

    /// Whether the item is visible.
    #[must_use]
    pub fn sees(&self, item: &SelectableItem) -> bool {
        self.0.as_ref().is_none_or(|sees| sees(item))
    }

    /// Whether every item is visible.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Debug for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_open() { "Visibility(open)" } else { "Visibility(predicate)" })
    }
}
