//! Names together with what they mean.

use serde_json::Value;

use crate::redact::field::{FieldMeaning, HiddenBy, Names};

/// A name, and what it says of its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldName<'k> {
    pub(crate) name: &'k str,
    pub(super) meaning: FieldMeaning,
}

impl<'k> FieldName<'k> {
    /// Why a value under this name is never shown, if it is not. Nothing, true and false are no
    /// secrets.
    pub(crate) fn hides(self, value: &Value) -> Option<HiddenBy> {
        self.meaning.hidden.filter(|_| !matches!(value, Value::Null | Value::Bool(_)))
    }

    /// A name with what it means.
    pub(crate) fn of(name: &'k str, names: &mut Names) -> Self {
        Self { name, meaning: names.of(name) }
    }
}
