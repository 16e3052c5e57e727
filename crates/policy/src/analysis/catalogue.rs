//! The capabilities that an analysis speaks about.

use std::collections::BTreeSet;

use weaver_types::CapabilityId;

use super::names;
use crate::matching::Match;
use crate::rule::Pattern;
use crate::set::PolicySet;

/// A list of capabilities, and whether it is all there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    ids: BTreeSet<CapabilityId>,
    given: bool,
}

impl Catalogue {
    /// These capabilities and no others.
    #[must_use]
    pub fn new(ids: impl IntoIterator<Item = CapabilityId>) -> Self {
        Self { ids: ids.into_iter().collect(), given: true }
    }

    /// What the documents name: every id, a stand-in for every pattern, and one for everything
    /// that nothing is said of.
    #[must_use]
    pub fn of(set: &PolicySet) -> Self {
        let mut patterns: Vec<&Pattern> = set.contracts().capabilities.keys().collect();
        patterns.extend(set.contracts().visible.iter().flat_map(|entry| &entry.capabilities));
        for rule in &set.policy().rules {
            in_match(&rule.matches, &mut patterns);
        }
        let names = names::stand_ins(patterns);
        let ids = names.into_iter().filter_map(|name| CapabilityId::parse(name).ok()).collect();
        Self { ids, given: false }
    }

    /// The capabilities.
    #[must_use]
    pub fn ids(&self) -> &BTreeSet<CapabilityId> {
        &self.ids
    }

    /// Whether somebody gave the list; otherwise it was gathered from the documents.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.given
    }
}

fn in_match<'m>(matches: &'m Match, out: &mut Vec<&'m Pattern>) {
    out.extend(&matches.capability);
    for (_, _, nested) in matches.nested() {
        in_match(nested, out);
    }
}
