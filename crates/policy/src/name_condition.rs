//! Conditions on sets of names: roles that a principal has, tags that a capability has.

use std::collections::BTreeSet;

use serde::Serialize;

/// Names, of which one or all must be there: roles of a principal, or tags of a capability. An empty
/// set asks for nothing.
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

    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.any.is_empty() && self.all.is_empty()
    }

    /// Whether `held` has what is asked for.
    #[must_use]
    pub fn met_by(&self, held: &BTreeSet<String>) -> bool {
        (self.any.is_empty() || !self.any.is_disjoint(held)) && self.all.is_subset(held)
    }
}
