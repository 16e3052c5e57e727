//! What was registered first under each id.

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
