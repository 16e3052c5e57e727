//! In-memory records with an index by expiry; both in-memory stores use it.

use std::collections::{BTreeMap, BTreeSet};

use weaver_types::ledger::{Batch, LedgerError, MAX_PAGE, Namespace, Record, RecordKey};
use weaver_types::{Tenant, Timestamp};

use crate::id_map::IdMap;
use crate::limits::SWEEP_PER_COMMIT;
use crate::plan::{PlannedWrites, RecordLookup, VersionedRecord, plan};

/// The records of one tenant by id, one map per namespace, so that a look-up in a small namespace
/// does not search the large ones.
type RecordsByNamespace = Vec<IdMap<VersionedRecord>>;

/// Records by tenant, namespace and id.
#[derive(Debug, Default)]
pub(crate) struct RecordMap {
    tenants: BTreeMap<Tenant, RecordsByNamespace>,
    expiring: BTreeSet<(Timestamp, RecordKey)>,
}

impl RecordMap {
    fn ids(&self, tenant: &Tenant, namespace: Namespace) -> Option<&IdMap<VersionedRecord>> {
        self.tenants.get(tenant)?.get(namespace as usize)
    }

    /// A record.
    pub(crate) fn get(&self, key: &RecordKey) -> Option<&VersionedRecord> {
        self.ids(&key.tenant, key.namespace)?.get(&key.id)
    }

    /// Plans what a batch would write.
    pub(crate) fn plan<'b>(&self, batch: &'b Batch) -> Result<PlannedWrites<'b>, LedgerError> {
        plan(batch, &mut &*self)
    }

    /// Applies writes, and deletes some records that expired before `now`.
    pub(crate) fn write(&mut self, writes: PlannedWrites<'_>, now: Timestamp) {
        let limit = SWEEP_PER_COMMIT + writes.len() * 2;
        for (key, kept) in writes {
            self.set(key, kept);
        }
        self.sweep(now, limit);
    }

    /// Records in the order of their ids, after `after`, at most `limit` and [`MAX_PAGE`].
    pub(crate) fn page(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Vec<(String, Record)> {
        let ids = self.ids(tenant, namespace).into_iter();
        ids.flat_map(|ids| ids.after(after))
            .take(limit.min(MAX_PAGE))
            .map(|(id, kept)| (id.to_owned(), kept.clone().into()))
            .collect()
    }

    /// Whether any tenant has a record with this id.
    pub(crate) fn has_record(&self, namespace: Namespace, id: &str) -> bool {
        let mut spaces = self.tenants.values().filter_map(|spaces| spaces.get(namespace as usize));
        spaces.any(|ids| ids.get(id).is_some())
    }

    fn set(&mut self, key: &RecordKey, kept: Option<VersionedRecord>) {
        let ends = kept.as_ref().and_then(|kept| kept.expires_at);
        let before = match kept {
            Some(kept) => self.insert(key, kept),
            None => self.remove(key),
        };
        let ended = before.and_then(|before| before.expires_at);
        if ended == ends {
            return;
        }
        if let Some(at) = ended {
            self.expiring.remove(&(at, key.clone()));
        }
        self.expiring.extend(ends.map(|at| (at, key.clone())));
    }

    fn insert(&mut self, key: &RecordKey, kept: VersionedRecord) -> Option<VersionedRecord> {
        // The tenant is cloned only when it is new.
        let spaces = match self.tenants.get_mut(&key.tenant) {
            Some(spaces) => spaces,
            None => self.tenants.entry(key.tenant.clone()).or_default(),
        };
        let place = key.namespace as usize;
        if spaces.len() <= place {
            spaces.resize_with(place + 1, IdMap::default);
        }
        spaces.get_mut(place)?.insert(&key.id, kept)
    }

    fn remove(&mut self, key: &RecordKey) -> Option<VersionedRecord> {
        self.tenants.get_mut(&key.tenant)?.get_mut(key.namespace as usize)?.remove(&key.id)
    }

    fn sweep(&mut self, now: Timestamp, limit: usize) {
        for _ in 0..limit {
            match self.expiring.first() {
                Some((at, _)) if *at < now => {}
                _ => return,
            }
            if let Some((_, key)) = self.expiring.pop_first() {
                self.remove(&key);
            }
        }
    }
}

impl RecordLookup for &RecordMap {
    fn record(&mut self, key: &RecordKey) -> Result<Option<&VersionedRecord>, LedgerError> {
        Ok(self.get(key))
    }
}
