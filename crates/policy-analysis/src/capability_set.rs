//! The capabilities that an analysis is about.

use std::collections::BTreeSet;

use weaver_policy::{MatchConditions, Pattern, PolicySet};
use weaver_types::CapabilityId;

use crate::representative_names;

/// Where the capabilities of a set come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapabilitySetOrigin {
    /// A complete list was given; there are no other capabilities.
    Given,
    /// They were derived from the names and patterns in the documents; there may be others.
    Documents,
}

/// The capabilities that an analysis is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapabilitySet {
    ids: BTreeSet<CapabilityId>,
    origin: CapabilitySetOrigin,
}

impl CapabilitySet {
    /// A set of exactly these capabilities.
    #[must_use]
    pub fn new(ids: impl IntoIterator<Item = CapabilityId>) -> Self {
        Self { ids: ids.into_iter().collect(), origin: CapabilitySetOrigin::Given }
    }

    /// The capabilities that the documents name: every id, a representative for each pattern, and
    /// one for ids that match no pattern.
    #[must_use]
    pub fn from_documents(set: &PolicySet) -> Self {
        let mut patterns: Vec<&Pattern> = set.contracts().capabilities.keys().collect();
        patterns.extend(set.contracts().visible.iter().flat_map(|entry| &entry.capabilities));
        for rule in &set.policy().rules {
            collect_patterns(&rule.matches, &mut patterns);
        }
        let names = representative_names::one_per_pattern(patterns);
        let ids = names.into_iter().filter_map(|name| CapabilityId::parse(name).ok()).collect();
        Self { ids, origin: CapabilitySetOrigin::Documents }
    }

    /// The capabilities.
    #[must_use]
    pub fn ids(&self) -> &BTreeSet<CapabilityId> {
        &self.ids
    }

    /// Where the capabilities come from.
    #[must_use]
    pub fn origin(&self) -> CapabilitySetOrigin {
        self.origin
    }
}

fn collect_patterns<'m>(matches: &'m MatchConditions, out: &mut Vec<&'m Pattern>) {
    out.extend(&matches.capability);
    for nested in matches.nested() {
        collect_patterns(nested, out);
    }
}
