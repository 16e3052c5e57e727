//! The registered capabilities, by id and by the skeleton of their ids.

use std::collections::BTreeMap;
use std::sync::Arc;

use weaver_text::confusable;
use weaver_types::{CapabilityId, Digest};

use super::first_seen::FirstSeen;
use super::{MAX_CAPABILITIES, RegisteredCapability};
use crate::error::RegistryError;

/// Capabilities by id, no two of which a reader takes for one another.
#[derive(Default)]
pub(super) struct Entries {
    by_id: BTreeMap<CapabilityId, Arc<RegisteredCapability>>,
    /// The first version of each.
    first: FirstSeen,
    /// The ids by their skeletons, as they are written, in lower case, and with one
    /// kind of joint.
    looks: [BTreeMap<String, CapabilityId>; LOOKS],
}

const LOOKS: usize = 3;

fn looks(id: &CapabilityId) -> [String; LOOKS] {
    let folded = confusable::folded(id.as_str());
    [confusable::skeleton(id.as_str()), folded.clone(), folded.replace('-', "_")]
}

/// Takes out those that a reader would take for another of them, and says of each for which: none
/// is the right one by itself.
pub(super) fn take_alike(
    fresh: &mut BTreeMap<CapabilityId, Arc<RegisteredCapability>>,
) -> Vec<RegistryError> {
    let mut by_look: BTreeMap<(usize, String), Vec<CapabilityId>> = BTreeMap::new();
    for id in fresh.keys() {
        for (kind, look) in looks(id).into_iter().enumerate() {
            by_look.entry((kind, look)).or_default().push(id.clone());
        }
    }
    let mut refused = Vec::new();
    for alike in by_look.into_values().filter(|alike| alike.len() > 1) {
        for (at, id) in alike.iter().enumerate() {
            let other = alike.get(usize::from(at == 0)).unwrap_or(id).clone();
            if fresh.remove(id).is_some() {
                refused.push(RegistryError::Confusable { id: id.clone(), other });
            }
        }
    }
    refused
}

impl Entries {
    pub(super) fn by_id(&self) -> &BTreeMap<CapabilityId, Arc<RegisteredCapability>> {
        &self.by_id
    }

    /// Puts one in, where its name is free.
    pub(super) fn insert(&mut self, entry: Arc<RegisteredCapability>) -> Result<(), RegistryError> {
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
        entry.set_registered(self.first.enter(&entry.capability)?);
        entry.set_late(self.first.is_late(entry.capability.id()));
        for (known, look) in self.looks.iter_mut().zip(own) {
            known.insert(look, id.clone());
        }
        self.by_id.insert(id.clone(), entry);
        Ok(())
    }

    /// Takes out one whose registration did not come about.
    pub(super) fn undo(&mut self, entry: &RegisteredCapability) {
        self.remove(entry.capability.id());
        self.first.forget(&entry.capability);
    }

    /// Puts another version in the place of one that is there. What was registered first stays.
    pub(super) fn exchange(
        &mut self,
        entry: Arc<RegisteredCapability>,
    ) -> Result<(), RegistryError> {
        let id = entry.capability.id().clone();
        let Some(slot) = self.by_id.get_mut(&id) else { return Err(RegistryError::Unknown { id }) };
        entry.set_registered(slot.registered());
        entry.set_late(slot.is_late());
        *slot = entry;
        Ok(())
    }

    /// Takes the live version as the registered one.
    pub(super) fn approve(&mut self, id: &CapabilityId, of: Digest) -> Result<(), RegistryError> {
        let Some(entry) = self.by_id.get(id) else {
            return Err(RegistryError::Unknown { id: id.clone() });
        };
        let found = entry.capability.fingerprint();
        if found != of {
            return Err(RegistryError::Moved { id: id.clone(), found });
        }
        self.first.replace(&entry.capability);
        entry.set_registered(Arc::clone(&entry.capability));
        entry.set_late(false);
        Ok(())
    }

    pub(super) fn remove(&mut self, id: &CapabilityId) {
        if self.by_id.remove(id).is_some() {
            self.first.leave(id);
            for (known, look) in self.looks.iter_mut().zip(looks(id)) {
                known.remove(&look);
            }
        }
    }

    /// From here on, what is new under this namespace comes late.
    pub(super) fn settle(&mut self, namespace: &str) {
        self.first.settle(namespace);
    }

    /// The ids that begin with `prefix`.
    pub(super) fn under(&self, prefix: &str) -> Vec<CapabilityId> {
        self.by_id.keys().filter(|id| id.as_str().starts_with(prefix)).cloned().collect()
    }
}
