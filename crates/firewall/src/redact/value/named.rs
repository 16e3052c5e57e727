//! Names together with what they mean.

use crate::redact::field::{Meaning, Names};

/// A name, and what it says of its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'k> {
    pub(crate) name: &'k str,
    pub(super) meaning: Meaning,
}

impl<'k> Named<'k> {
    /// A name with what it means.
    pub(crate) fn of(name: &'k str, names: &mut Names) -> Self {
        Self { name, meaning: names.of(name) }
    }
}
