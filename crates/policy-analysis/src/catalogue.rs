//! The capabilities that an analysis is about.

use std::collections::BTreeSet;

use weaver_policy::{Match, Pattern, PolicySet};
use weaver_types::CapabilityId;

use crate::representative_names;

/// Where the list of a catalogue comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatalogueOrigin {
    /// Somebody gave the list: these capabilities and no others.
    Given,
    /// The names and patterns of the documents; there may be other capabilities.
    Documents,
}

/// The capabilities that an analysis is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    ids: BTreeSet<CapabilityId>,
    origin: CatalogueOrigin,
}

impl Catalogue {
    /// These capabilities and no others.
    #[must_use]
    pub fn new(ids: impl IntoIterator<Item = CapabilityId>) -> Self {
        Self { ids: ids.into_iter().collect(), origin: CatalogueOrigin::Given }
    }

    /// What the documents name: every id, a stand-in for every pattern, and one for everything
    /// that nothing is said of.
    #[must_use]
    pub fn of(set: &PolicySet) -> Self {
        let mut patterns: Vec<&Pattern> = set.contracts().capabilities.keys().collect();
        patterns.extend(set.contracts().visible.iter().flat_map(|entry| &entry.capabilities));
        for rule in &set.policy().rules {
            collect_patterns(&rule.matches, &mut patterns);
        }
        let names = representative_names::one_per_pattern(patterns);
        let ids = names.into_iter().filter_map(|name| CapabilityId::parse(name).ok()).collect();
        Self { ids, origin: CatalogueOrigin::Documents }
    }

    /// The capabilities.
    #[must_use]
    pub fn ids(&self) -> &BTreeSet<CapabilityId> {
        &self.ids
    }

    /// Where the list comes from.
    #[must_use]
    pub fn origin(&self) -> CatalogueOrigin {
        self.origin
    }
}

fn collect_patterns<'m>(matches: &'m Match, out: &mut Vec<&'m Pattern>) {
    out.extend(&matches.capability);
    for nested in matches.nested() {
        collect_patterns(nested, out);
    }
}
