//! The first capability that was registered under each id.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weaver_types::{Capability, CapabilityId};

use crate::error::RegistryError;

/// How many capabilities of one namespace may be gone and still be remembered.
const MAX_GONE: usize = 10_000;

/// The first version of everything that was ever registered, also of what is gone: who comes back
/// under an old id is compared with what stood there.
#[derive(Default)]
pub(crate) struct FirstSeen {
    by_id: BTreeMap<CapabilityId, Arc<Capability>>,
    /// How many of each namespace are gone.
    gone: BTreeMap<String, usize>,
    /// The namespaces whose first listing is whole.
    settled: BTreeSet<String>,
    /// What came afterwards, and was not approved since.
    late: BTreeSet<CapabilityId>,
}

/// What stands before the first dot.
fn namespace(id: &CapabilityId) -> &str {
    id.as_str().split_once('.').map_or("", |(namespace, _)| namespace)
}

impl FirstSeen {
    /// The first version under the id of one that is put in now, which may be this one.
    pub(crate) fn enter(
        &mut self,
        live: &Arc<Capability>,
    ) -> Result<Arc<Capability>, RegistryError> {
        let id = live.id();
        let gone = self.gone.entry(namespace(id).to_owned()).or_default();
        if let Some(first) = self.by_id.get(id) {
            *gone = gone.saturating_sub(1);
            return Ok(Arc::clone(first));
        }
        if *gone >= MAX_GONE {
            let prefix = namespace(id).to_owned();
            return Err(RegistryError::Restless { prefix, limit: MAX_GONE });
        }
        if self.settled.contains(namespace(id)) {
            self.late.insert(id.clone());
        }
        self.by_id.insert(id.clone(), Arc::clone(live));
        Ok(Arc::clone(live))
    }

    /// It is not registered any more, and yet remembered.
    pub(crate) fn leave(&mut self, id: &CapabilityId) {
        *self.gone.entry(namespace(id).to_owned()).or_default() += 1;
    }

    /// Its registration did not come about.
    pub(crate) fn forget(&mut self, live: &Arc<Capability>) {
        if self.by_id.get(live.id()).is_some_and(|first| Arc::ptr_eq(first, live)) {
            self.by_id.remove(live.id());
            self.late.remove(live.id());
            // It is not remembered as one that left, either.
            if let Some(gone) = self.gone.get_mut(namespace(live.id())) {
                *gone = gone.saturating_sub(1);
            }
        }
    }

    /// Somebody approved this version.
    pub(crate) fn replace(&mut self, live: &Arc<Capability>) {
        self.late.remove(live.id());
        self.by_id.insert(live.id().clone(), Arc::clone(live));
    }

    /// What is new in this namespace from here on comes late.
    pub(crate) fn settle(&mut self, namespace: &str) {
        self.settled.insert(namespace.to_owned());
    }

    /// Whether it came after its namespace was settled, and nobody approved it since.
    pub(crate) fn is_late(&self, id: &CapabilityId) -> bool {
        self.late.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::{Agents, CapabilityDraft, Effects};

    use super::*;

    fn capability(id: &str) -> Arc<Capability> {
        let id = CapabilityId::parse(id).unwrap();
        let draft = CapabilityDraft {
            description: "a capability".to_owned(),
            ..CapabilityDraft::new(id.clone(), id.as_str(), Effects::READ_LOCAL, Agents::Any)
        };
        Arc::new(draft.build().unwrap())
    }

    #[test]
    fn who_comes_back_is_compared_with_what_stood_there_first() {
        let mut seen = FirstSeen::default();
        let (first, other) = (capability("s.a"), capability("s.a"));
        assert!(Arc::ptr_eq(&seen.enter(&first).unwrap(), &first));
        seen.leave(first.id());
        assert!(Arc::ptr_eq(&seen.enter(&other).unwrap(), &first));
        seen.replace(&other);
        assert!(Arc::ptr_eq(&seen.enter(&first).unwrap(), &other), "somebody approved it");
    }

    #[test]
    fn a_registration_that_did_not_come_about_leaves_nothing_behind() {
        let mut seen = FirstSeen::default();
        let (first, other) = (capability("s.a"), capability("s.a"));
        seen.settle("s");
        seen.enter(&first).unwrap();
        assert!(seen.is_late(first.id()));
        seen.forget(&other);
        assert!(seen.is_late(first.id()), "it is not the one that came first");
        seen.forget(&first);
        assert!(!seen.is_late(first.id()));
        assert!(Arc::ptr_eq(&seen.enter(&other).unwrap(), &other));
        // However often it is tried.
        seen.forget(&other);
        for _ in 0..=MAX_GONE {
            seen.enter(&first).unwrap();
            seen.leave(first.id());
            seen.forget(&first);
        }
    }

    #[test]
    fn what_is_new_after_the_first_listing_of_its_namespace_is_late_until_it_is_approved() {
        let mut seen = FirstSeen::default();
        let [early, late, elsewhere, alone] =
            ["s.early", "s.late", "t.late", "late"].map(capability);
        seen.enter(&early).unwrap();
        seen.settle("s");
        for one in [&late, &elsewhere, &alone] {
            seen.enter(one).unwrap();
        }
        seen.leave(early.id());
        seen.enter(&early).unwrap();
        let is_late = |seen: &FirstSeen| {
            [&early, &late, &elsewhere, &alone].map(|one| seen.is_late(one.id()))
        };
        assert_eq!(is_late(&seen), [false, true, false, false]);
        seen.replace(&late);
        assert_eq!(is_late(&seen), [false; 4]);
        seen.settle("");
        seen.enter(&capability("alone")).unwrap();
        assert!(
            seen.is_late(capability("alone").id()),
            "an id without a namespace has the empty one"
        );
    }

    #[test]
    fn a_namespace_may_give_up_10_000_ids_and_no_new_one_comes_then() {
        let mut seen = FirstSeen::default();
        let old = capability("s.old");
        seen.enter(&old).unwrap();
        for _ in 0..9_999 {
            seen.leave(old.id());
        }
        assert!(seen.enter(&capability("s.new")).is_ok());
        seen.leave(old.id());
        assert_eq!(
            seen.enter(&capability("s.more")).unwrap_err(),
            RegistryError::Restless { prefix: "s".to_owned(), limit: 10_000 }
        );
        assert!(seen.enter(&capability("t.more")).is_ok(), "another namespace has its own");
        assert!(seen.enter(&old).is_ok(), "who comes back is counted no more");
        assert!(seen.enter(&capability("s.more")).is_ok());
    }
}
