//! Conditions on sets of names: a principal's roles or a capability's tags.

use std::collections::BTreeSet;

use serde::Serialize;

/// A condition on a set of names, such as roles or tags: at least one name, all names, or both. An
/// empty set imposes no condition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct NameCondition {
    /// At least one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub any: BTreeSet<String>,
    /// Every one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub all: BTreeSet<String>,
}

impl NameCondition {
    /// At least one of these names.
    #[must_use]
    pub fn any<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { any: names.into_iter().map(str::to_owned).collect(), all: BTreeSet::new() }
    }

    /// Whether it imposes no condition.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.any.is_empty() && self.all.is_empty()
    }

    /// Whether these names meet the condition.
    #[must_use]
    pub fn is_met_by(&self, names: &BTreeSet<String>) -> bool {
        (self.any.is_empty() || !self.any.is_disjoint(names)) && self.all.is_subset(names)
    }
}
