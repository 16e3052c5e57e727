//! The version of a mask table, as the key of caches of redacted text.

use std::sync::{Arc, Weak};

use super::mask_table::{DisclosedValues, MaskTable};

/// Identifies the masks that a redactor would write: those of one table, until more of its values
/// are disclosed.
///
/// Compared by address. The weak pointers keep the allocations, so an address is not reused while a
/// version that refers to it exists.
#[derive(Debug, Clone)]
pub(crate) struct MaskTableVersion {
    table: Weak<MaskTable>,
    disclosed_values: Option<Weak<DisclosedValues>>,
}

impl MaskTableVersion {
    pub(super) fn new(table: &Arc<MaskTable>, disclosed: Option<&Arc<DisclosedValues>>) -> Self {
        Self { table: Arc::downgrade(table), disclosed_values: disclosed.map(Arc::downgrade) }
    }
}

impl PartialEq for MaskTableVersion {
    fn eq(&self, other: &Self) -> bool {
        let same_disclosed = match (&self.disclosed_values, &other.disclosed_values) {
            (Some(own), Some(other)) => own.ptr_eq(other),
            (own, other) => own.is_none() && other.is_none(),
        };
        same_disclosed && self.table.ptr_eq(&other.table)
    }
}
