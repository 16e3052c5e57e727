//! A field name together with its meaning.

use serde_json::Value;

use crate::redact::field_names::{FieldMeaning, FieldNameClassifier, HiddenBy};

/// A field name and what it says about its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldName<'k> {
    pub(crate) name: &'k str,
    pub(super) meaning: FieldMeaning,
}

impl<'k> FieldName<'k> {
    /// Why a value under this name is never shown; `None` if it may be. Null, true and false are
    /// never secrets, and neither are counts of values.
    pub(crate) fn hides_value(self, value: &Value) -> Option<HiddenBy> {
        let counts = |aggregate| self.name.starts_with(aggregate);
        let is_count = || value.is_number() && ["count(", "distinct("].into_iter().any(counts);
        let is_public = matches!(value, Value::Null | Value::Bool(_)) || is_count();
        self.meaning.hidden_by.filter(|_| !is_public)
    }

    /// Classifies a name.
    pub(crate) fn classify(name: &'k str, names: &mut FieldNameClassifier) -> Self {
        Self { name, meaning: names.classify(name) }
    }
}
