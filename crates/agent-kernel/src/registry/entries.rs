//! The registered capabilities, by id and by the confusable skeletons of their ids (Unicode TS 39).

use std::collections::BTreeMap;
use std::sync::Arc;

use weaver_text::confusable;
use weaver_types::{CapabilityId, Digest};

use super::first_versions::FirstVersions;
use super::{MAX_CAPABILITIES, RegisteredCapability};
use crate::error::RegistryError;

/// Capabilities by id, no two of which look alike.
#[derive(Default)]
pub(super) struct RegistryEntries {
    by_id: BTreeMap<CapabilityId, Arc<RegisteredCapability>>,
    /// The first version of each capability.
    first_versions: FirstVersions,
    /// The ids by their skeletons: as written, in lower case, and with `-` as `_`.
    by_skeleton: [BTreeMap<String, CapabilityId>; SKELETON_KINDS],
}

const SKELETON_KINDS: usize = 3;

fn skeletons(id: &CapabilityId) -> [String; SKELETON_KINDS] {
    let folded = confusable::folded_skeleton(id.as_str());
    [confusable::skeleton(id.as_str()), folded.clone(), folded.replace('-', "_")]
}

/// Removes all ids that look like another one in the set, with an error for each: neither has
/// precedence.
pub(super) fn remove_confusable(
    new_entries: &mut BTreeMap<CapabilityId, Arc<RegisteredCapability>>,
) -> Vec<RegistryError> {
    let mut by_look: BTreeMap<(usize, String), Vec<CapabilityId>> = BTreeMap::new();
    for id in new_entries.keys() {
        for (kind, skeleton) in skeletons(id).into_iter().enumerate() {
            by_look.entry((kind, skeleton)).or_default().push(id.clone());
        }
    }
    let mut refused = Vec::new();
    for look_alikes in by_look.into_values().filter(|look_alikes| look_alikes.len() > 1) {
        for (at, id) in look_alikes.iter().enumerate() {
            let other = look_alikes.get(usize::from(at == 0)).unwrap_or(id).clone();
            if new_entries.remove(id).is_some() {
                refused.push(RegistryError::Confusable { id: id.clone(), other });
            }
        }
    }
    refused
}

impl RegistryEntries {
    pub(super) fn by_id(&self) -> &BTreeMap<CapabilityId, Arc<RegisteredCapability>> {
        &self.by_id
    }

    /// Inserts an entry, unless its id is taken or looks like another.
    pub(super) fn insert(&mut self, entry: Arc<RegisteredCapability>) -> Result<(), RegistryError> {
        let id = entry.capability.id();
        if self.by_id.contains_key(id) {
            return Err(RegistryError::Duplicate { id: id.clone() });
        }
        let own_skeletons = skeletons(id);
        for (ids_by_skeleton, skeleton) in self.by_skeleton.iter().zip(&own_skeletons) {
            if let Some(other) = ids_by_skeleton.get(skeleton) {
                let (id, other) = (id.clone(), other.clone());
                return Err(RegistryError::Confusable { id, other });
            }
        }
        if self.by_id.len() >= MAX_CAPABILITIES {
            return Err(RegistryError::Full { limit: MAX_CAPABILITIES });
        }
        entry.set_registered(self.first_versions.insert(&entry.capability)?);
        entry.set_late(self.first_versions.is_late(entry.capability.id()));
        for (ids_by_skeleton, skeleton) in self.by_skeleton.iter_mut().zip(own_skeletons) {
            ids_by_skeleton.insert(skeleton, id.clone());
        }
        self.by_id.insert(id.clone(), entry);
        Ok(())
    }

    /// Undoes an insertion, when the registration of its namespace fails.
    pub(super) fn undo_insert(&mut self, entry: &RegisteredCapability) {
        self.remove(entry.capability.id());
        self.first_versions.undo_insert(&entry.capability);
    }

    /// Replaces the live version of an entry. The first version stays.
    pub(super) fn replace(
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

    /// Makes the live version the registered one.
    pub(super) fn approve(&mut self, id: &CapabilityId, of: Digest) -> Result<(), RegistryError> {
        let Some(entry) = self.by_id.get(id) else {
            return Err(RegistryError::Unknown { id: id.clone() });
        };
        let live_fingerprint = entry.capability.fingerprint();
        if live_fingerprint != of {
            return Err(RegistryError::VersionChanged { id: id.clone(), live: live_fingerprint });
        }
        self.first_versions.replace(&entry.capability);
        entry.set_registered(Arc::clone(&entry.capability));
        entry.set_late(false);
        Ok(())
    }

    pub(super) fn remove(&mut self, id: &CapabilityId) {
        if self.by_id.remove(id).is_some() {
            self.first_versions.note_removed(id);
            for (ids_by_skeleton, skeleton) in self.by_skeleton.iter_mut().zip(skeletons(id)) {
                ids_by_skeleton.remove(&skeleton);
            }
        }
    }

    /// Removes all entries of a namespace, and forgets them.
    pub(super) fn remove_namespace(&mut self, namespace: &str) {
        for id in self.ids_with_prefix(&format!("{namespace}.")) {
            self.remove(&id);
        }
        self.first_versions.forget(namespace);
    }

    /// From now on, new ids in this namespace count as late.
    pub(super) fn end_first_listing(&mut self, namespace: &str) {
        self.first_versions.end_first_listing(namespace);
    }

    /// The ids that begin with `prefix`.
    pub(super) fn ids_with_prefix(&self, prefix: &str) -> Vec<CapabilityId> {
        self.by_id.keys().filter(|id| id.as_str().starts_with(prefix)).cloned().collect()
    }
}
