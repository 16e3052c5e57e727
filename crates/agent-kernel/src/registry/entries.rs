//! What is registered: by id, and by what its id looks like.

use std::collections::BTreeMap;
use std::sync::Arc;

use weaver_text::confusable;
use weaver_types::CapabilityId;

use super::{MAX_CAPABILITIES, Registered};
use crate::error::RegistryError;

/// Capabilities by id, no two of which a reader takes for one another.
#[derive(Default)]
pub(super) struct Entries {
    by_id: BTreeMap<CapabilityId, Arc<Registered>>,
    /// The ids by their skeletons, as they are written and in lower case.
    looks: [BTreeMap<String, CapabilityId>; 2],
}

fn looks(id: &CapabilityId) -> [String; 2] {
    [confusable::skeleton(id.as_str()), confusable::folded(id.as_str())]
}

impl Entries {
    pub(super) fn by_id(&self) -> &BTreeMap<CapabilityId, Arc<Registered>> {
        &self.by_id
    }

    /// Puts one in, where its name is free.
    pub(super) fn insert(&mut self, entry: Arc<Registered>) -> Result<(), RegistryError> {
        let id = entry.capability.id();
        if self.by_id.contains_key(id) {
            return Err(RegistryError::Duplicate { id: id.clone() });
        }
        let own = looks(id);
        for (known, look) in self.looks.iter().zip(&own) {
            if let Some(other) = known.get(look) {
                let (id, other) = (id.clone(), other.clone());
                return Err(RegistryError::Confusable { id, other });
            }
        }
        if self.by_id.len() >= MAX_CAPABILITIES {
            return Err(RegistryError::Full { limit: MAX_CAPABILITIES });
        }
        for (known, look) in self.looks.iter_mut().zip(own) {
            known.insert(look, id.clone());
        }
        self.by_id.insert(id.clone(), entry);
        Ok(())
    }

    pub(super) fn remove(&mut self, id: &CapabilityId) {
        if self.by_id.remove(id).is_some() {
            for (known, look) in self.looks.iter_mut().zip(looks(id)) {
                known.remove(&look);
            }
        }
    }

    /// The ids that begin with `prefix`.
    pub(super) fn under(&self, prefix: &str) -> Vec<CapabilityId> {
        self.by_id.keys().filter(|id| id.as_str().starts_with(prefix)).cloned().collect()
    }
}
