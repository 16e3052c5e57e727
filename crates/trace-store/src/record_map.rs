//! Records in memory, and which of them end when: what both stores in memory keep.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use weaver_types::ledger::{Batch, LedgerError, MAX_PAGE, Namespace, Record, RecordKey};
use weaver_types::{Tenant, Timestamp};

use crate::limits::SWEEP;
use crate::plan::{Before, Kept, Writes, plan};

/// The records of one tenant in one namespace, by their ids.
type Ids = BTreeMap<Arc<str>, Kept>;

/// Records by namespace, tenant and id. Each namespace of a tenant is by itself, so that a look at
/// one with few records does not go through those of all.
#[derive(Debug, Default)]
pub(crate) struct RecordMap {
    records: BTreeMap<Namespace, BTreeMap<Tenant, Ids>>,
    expiring: BTreeSet<(Timestamp, RecordKey)>,
}

impl RecordMap {
    fn ids(&self, tenant: &Tenant, namespace: Namespace) -> Option<&Ids> {
        self.records.get(&namespace)?.get(tenant)
    }

    /// A record.
    pub(crate) fn get(&self, key: &RecordKey) -> Option<&Kept> {
        self.ids(&key.tenant, key.namespace)?.get(&key.id)
    }

    /// What a batch would write.
    pub(crate) fn plan<'b>(&self, batch: &'b Batch) -> Result<Writes<'b>, LedgerError> {
        plan(batch, &mut &*self)
    }

    /// Writes, and removes some of what ended before `now`.
    pub(crate) fn write(&mut self, writes: Writes<'_>, now: Timestamp) {
        let limit = SWEEP + writes.len() * 2;
        for (key, kept) in writes {
            self.set(key, kept);
        }
        self.sweep(now, limit);
    }

    /// Records in the order of their ids, after `after`, at most `limit` and [`MAX_PAGE`].
    pub(crate) fn page(
        &self,
        (tenant, namespace): (&Tenant, Namespace),
        after: Option<&str>,
        limit: usize,
    ) -> Vec<(String, Record)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let ids = self.ids(tenant, namespace).into_iter();
        ids.flat_map(|ids| ids.range::<str, _>((from, Bound::Unbounded)))
            .take(limit.min(MAX_PAGE))
            .map(|(id, kept)| (id.as_ref().to_owned(), kept.clone().into()))
            .collect()
    }

    /// Whether any tenant has a record of this id.
    pub(crate) fn stands(&self, namespace: Namespace, id: &str) -> bool {
        let tenants = self.records.get(&namespace).into_iter().flat_map(BTreeMap::values);
        tenants.into_iter().any(|ids| ids.contains_key(id))
    }

    fn set(&mut self, key: &RecordKey, kept: Option<Kept>) {
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

    fn insert(&mut self, key: &RecordKey, kept: Kept) -> Option<Kept> {
        let tenants = self.records.entry(key.namespace).or_default();
        // A tenant is copied only where it is new.
        match tenants.get_mut(&key.tenant) {
            Some(ids) => ids.insert(key.id.clone(), kept),
            None => {
                tenants.insert(key.tenant.clone(), Ids::from([(key.id.clone(), kept)]));
                None
            }
        }
    }

    fn remove(&mut self, key: &RecordKey) -> Option<Kept> {
        let ids = self.records.get_mut(&key.namespace)?.get_mut(&key.tenant)?;
        ids.remove(&key.id)
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

impl Before for &RecordMap {
    fn record(&mut self, key: &RecordKey) -> Result<Option<&Kept>, LedgerError> {
        Ok(self.get(key))
    }
}
