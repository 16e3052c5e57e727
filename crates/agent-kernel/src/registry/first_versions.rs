//! The first version that was registered under each id.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weaver_types::{Capability, CapabilityId};

use crate::error::RegistryError;

/// How many removed capabilities of one namespace are remembered.
const MAX_REMOVED_PER_NAMESPACE: usize = 10_000;

/// The first version of everything that was ever registered, including removed capabilities: one
/// that comes back under an old id is compared with the version that was there first.
#[derive(Default)]
pub(crate) struct FirstVersions {
    by_id: BTreeMap<CapabilityId, Arc<Capability>>,
    /// How many of each namespace were removed.
    removed_counts: BTreeMap<String, usize>,
    /// The namespaces whose first listing is complete.
    listed_namespaces: BTreeSet<String>,
    /// The ids that appeared afterwards and were not approved since.
    late: BTreeSet<CapabilityId>,
}

/// The part of an id before the first dot.
fn namespace_of(id: &CapabilityId) -> &str {
    id.as_str().split_once('.').map_or("", |(namespace, _)| namespace)
}

impl FirstVersions {
    /// Inserts a capability; returns the first version under its id, which may be this one.
    pub(crate) fn insert(
        &mut self,
        live: &Arc<Capability>,
    ) -> Result<Arc<Capability>, RegistryError> {
        let id = live.id();
        let removed_count = self.removed_counts.entry(namespace_of(id).to_owned()).or_default();
        if let Some(first) = self.by_id.get(id) {
            *removed_count = removed_count.saturating_sub(1);
            return Ok(Arc::clone(first));
        }
        if *removed_count >= MAX_REMOVED_PER_NAMESPACE {
            let (namespace, limit) = (namespace_of(id).to_owned(), MAX_REMOVED_PER_NAMESPACE);
            return Err(RegistryError::TooManyRemoved { namespace, limit });
        }
        if self.listed_namespaces.contains(namespace_of(id)) {
            self.late.insert(id.clone());
        }
        self.by_id.insert(id.clone(), Arc::clone(live));
        Ok(Arc::clone(live))
    }

    /// Notes that a capability was removed; its first version is still remembered.
    pub(crate) fn note_removed(&mut self, id: &CapabilityId) {
        *self.removed_counts.entry(namespace_of(id).to_owned()).or_default() += 1;
    }

    /// Undoes an insertion.
    pub(crate) fn undo_insert(&mut self, live: &Arc<Capability>) {
        if self.by_id.get(live.id()).is_some_and(|first| Arc::ptr_eq(first, live)) {
            self.by_id.remove(live.id());
            self.late.remove(live.id());
            // It does not count as removed either.
            if let Some(removed_count) = self.removed_counts.get_mut(namespace_of(live.id())) {
                *removed_count = removed_count.saturating_sub(1);
            }
        }
    }

    /// Makes an approved version the first one.
    pub(crate) fn replace(&mut self, live: &Arc<Capability>) {
        self.late.remove(live.id());
        self.by_id.insert(live.id().clone(), Arc::clone(live));
    }

    /// Forgets a namespace.
    pub(crate) fn forget(&mut self, namespace: &str) {
        self.by_id.retain(|id, _| namespace_of(id) != namespace);
        self.late.retain(|id| namespace_of(id) != namespace);
        self.removed_counts.remove(namespace);
        self.listed_namespaces.remove(namespace);
    }

    /// From now on, new ids in this namespace count as late.
    pub(crate) fn end_first_listing(&mut self, namespace: &str) {
        self.listed_namespaces.insert(namespace.to_owned());
    }

    /// Whether it appeared after the first listing of its namespace, and was not approved since.
    pub(crate) fn is_late(&self, id: &CapabilityId) -> bool {
        self.late.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::{AllowedAgents, CapabilityDraft, Effects};

    use super::*;

    fn capability(id: &str) -> Arc<Capability> {
        let id = CapabilityId::parse(id).unwrap();
        let draft = CapabilityDraft {
            description: "a capability".to_owned(),
            ..CapabilityDraft::new(id.clone(), id.as_str(), Effects::READ_LOCAL, AllowedAgents::Any)
        };
        Arc::new(draft.build().unwrap())
    }

    #[test]
    fn who_comes_back_is_compared_with_what_stood_there_first() {
        let mut seen = FirstVersions::default();
        let (first, other) = (capability("s.a"), capability("s.a"));
        assert!(Arc::ptr_eq(&seen.insert(&first).unwrap(), &first));
        seen.note_removed(first.id());
        assert!(Arc::ptr_eq(&seen.insert(&other).unwrap(), &first));
        seen.replace(&other);
        assert!(Arc::ptr_eq(&seen.insert(&first).unwrap(), &other), "somebody approved it");
    }

    #[test]
    fn what_comes_under_a_forgotten_namespace_is_new() {
        let mut seen = FirstVersions::default();
        let (first, other, elsewhere) = (capability("s.a"), capability("s.a"), capability("t.a"));
        for one in [&first, &elsewhere] {
            seen.insert(one).unwrap();
        }
        for namespace in ["s", "t"] {
            seen.end_first_listing(namespace);
        }
        seen.note_removed(first.id());
        seen.forget("s");
        assert!(Arc::ptr_eq(&seen.insert(&other).unwrap(), &other));
        assert!(!seen.is_late(other.id()));
        assert!(Arc::ptr_eq(&seen.insert(&capability("t.a")).unwrap(), &elsewhere));
        seen.insert(&capability("t.b")).unwrap();
        assert!(seen.is_late(capability("t.b").id()), "another namespace is as it was");
    }

    #[test]
    fn a_registration_that_did_not_come_about_leaves_nothing_behind() {
        let mut seen = FirstVersions::default();
        let (first, other) = (capability("s.a"), capability("s.a"));
        seen.end_first_listing("s");
        seen.insert(&first).unwrap();
        assert!(seen.is_late(first.id()));
        seen.undo_insert(&other);
        assert!(seen.is_late(first.id()), "it is not the one that came first");
        seen.undo_insert(&first);
        assert!(!seen.is_late(first.id()));
        assert!(Arc::ptr_eq(&seen.insert(&other).unwrap(), &other));
        // However often it is tried.
        seen.undo_insert(&other);
        for _ in 0..=MAX_REMOVED_PER_NAMESPACE {
            seen.insert(&first).unwrap();
            seen.note_removed(first.id());
            seen.undo_insert(&first);
        }
    }

    #[test]
    fn what_is_new_after_the_first_listing_of_its_namespace_is_late_until_it_is_approved() {
        let mut seen = FirstVersions::default();
        let [early, late, elsewhere, alone] =
            ["s.early", "s.late", "t.late", "late"].map(capability);
        seen.insert(&early).unwrap();
        seen.end_first_listing("s");
        for one in [&late, &elsewhere, &alone] {
            seen.insert(one).unwrap();
        }
        seen.note_removed(early.id());
        seen.insert(&early).unwrap();
        let is_late = |seen: &FirstVersions| {
            [&early, &late, &elsewhere, &alone].map(|one| seen.is_late(one.id()))
        };
        assert_eq!(is_late(&seen), [false, true, false, false]);
        seen.replace(&late);
        assert_eq!(is_late(&seen), [false; 4]);
        seen.end_first_listing("");
        seen.insert(&capability("alone")).unwrap();
        assert!(
            seen.is_late(capability("alone").id()),
            "an id without a namespace has the empty one"
        );
    }

    #[test]
    fn a_namespace_may_give_up_10_000_ids_and_no_new_one_comes_then() {
        let mut seen = FirstVersions::default();
        let old = capability("s.old");
        seen.insert(&old).unwrap();
        for _ in 0..9_999 {
            seen.note_removed(old.id());
        }
        assert!(seen.insert(&capability("s.new")).is_ok());
        seen.note_removed(old.id());
        assert_eq!(
            seen.insert(&capability("s.more")).unwrap_err(),
            RegistryError::TooManyRemoved { namespace: "s".to_owned(), limit: 10_000 }
        );
        assert!(seen.insert(&capability("t.more")).is_ok(), "another namespace has its own");
        assert!(seen.insert(&old).is_ok(), "who comes back is counted no more");
        assert!(seen.insert(&capability("s.more")).is_ok());
    }
}
