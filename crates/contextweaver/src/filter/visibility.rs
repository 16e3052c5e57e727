//! The visibility of items, as the host declares it.

use std::fmt;
use std::sync::Arc;

use crate::catalog::SelectableItem;

type Predicate = dyn Fn(&SelectableItem) -> bool + Send + Sync;

/// A predicate of the host: which items may be seen. The default sees everything.
#[derive(Clone, Default)]
pub struct Visibility(Option<Arc<Predicate>>);

impl Visibility {
    /// Sees what the predicate lets through. It must answer alike while one request is answered.
    pub fn of(sees: impl Fn(&SelectableItem) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(sees)))
    }

    /// Whether this item may be seen.
    #[must_use]
    pub fn sees(&self, item: &SelectableItem) -> bool {
        self.0.as_ref().is_none_or(|sees| sees(item))
    }

    /// Whether everything may be seen.
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
