//! Standing approvals: signed in advance, kept with the uses that remain.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use weaver_policy::approval::StandingApprovalState;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Ledger, Namespace, Record, RecordKey, RecordWrite};
use weaver_types::{StandingApprovalId, Tenant, Timestamp};

use super::logged_approvals::LoggedApprovals;
use crate::error::KernelError;
use crate::versioned_record::parse_versioned;

/// The most standing approvals that are kept. Ended ones count until they expire.
pub(crate) const MAX_STANDING_APPROVALS: usize = 1_024;

/// A standing approval with the version of its record.
#[derive(Debug, Clone)]
pub(crate) struct StandingRecord {
    pub(crate) version: u64,
    pub(crate) state: StandingApprovalState,
}

/// The standing approvals in memory. They may lag behind the ledger, whose record versions guard
/// every use.
pub(crate) struct StandingApprovals(RwLock<BTreeMap<StandingApprovalId, Arc<StandingRecord>>>);

impl StandingApprovals {
    pub(crate) fn load(
        tenant: &Tenant,
        ledger: &dyn Ledger,
        now: Timestamp,
    ) -> Result<Self, KernelError> {
        let mut all = BTreeMap::new();
        for found in ledger.all_records(tenant, Namespace::Standing) {
            let (id, record) = found?;
            let record = read(&id, &record)?;
            all.insert(record.state.standing_approval().id.clone(), record);
        }
        revoke_rolled_back(&mut all, ledger, now)?;
        Ok(Self(RwLock::new(all.into_iter().map(|(id, record)| (id, Arc::new(record))).collect())))
    }

    /// All standing approvals that can still release something, in the order of their ids.
    pub(crate) fn in_force(&self, now: Timestamp) -> Vec<Arc<StandingRecord>> {
        let Ok(all) = self.0.read() else { return Vec::new() };
        all.values()
            .filter(|record| {
                record.state.uses_left() > 0 && now < record.state.standing_approval().expires
            })
            .cloned()
            .collect()
    }

    pub(crate) fn get(&self, id: &StandingApprovalId) -> Option<StandingRecord> {
        self.0.read().ok()?.get(id).map(|record| record.as_ref().clone())
    }

    /// How many are kept. A poisoned table counts as full.
    pub(crate) fn len(&self) -> usize {
        self.0.read().map_or(usize::MAX, |all| all.len())
    }

    /// Applies a committed record, unless a newer one is known.
    pub(crate) fn apply_committed(&self, record: StandingRecord) {
        if let Ok(mut all) = self.0.write() {
            let id = record.state.standing_approval().id.clone();
            if all.get(&id).is_none_or(|known| known.version < record.version) {
                all.insert(id, Arc::new(record));
            }
        }
    }

    /// Evicts expired approvals. Their records stay in the ledger until the store removes them, so
    /// that the same file is not accepted twice.
    pub(crate) fn evict_expired(&self, now: Timestamp) {
        if let Ok(mut all) = self.0.write() {
            all.retain(|_, record| now < record.state.standing_approval().expires);
        }
    }
}

/// Revokes approvals whose log shows more uses than their record, or a revocation: the record was
/// rolled back.
fn revoke_rolled_back(
    all: &mut BTreeMap<StandingApprovalId, StandingRecord>,
    ledger: &dyn Ledger,
    now: Timestamp,
) -> Result<(), KernelError> {
    let mut in_force: Vec<&mut StandingRecord> = all
        .values_mut()
        .filter(|record| {
            record.state.uses_left() > 0 && now < record.state.standing_approval().expires
        })
        .collect();
    let Some(since) =
        in_force.iter().map(|record| record.state.standing_approval().opened_at).min()
    else {
        return Ok(());
    };
    let proof = LoggedApprovals::read_for_standing(ledger, since)?;
    for record in &mut in_force {
        if proof.contradicts(record.state.standing_approval(), record.state.use_count()) {
            record.state.revoke("kernel");
        }
    }
    Ok(())
}

/// The key of the record of a standing approval.
pub(crate) fn key(tenant: &Tenant, id: &StandingApprovalId) -> RecordKey {
    RecordKey::new(tenant.clone(), Namespace::Standing, id)
}

/// The record of a standing approval. `None` when it has no canonical form.
pub(crate) fn put(tenant: &Tenant, state: &StandingApprovalState) -> Option<RecordWrite> {
    let value = canonical::serialize(state, Profile::Foreign).ok()?;
    // An expired file is refused as expired; until then its record must exist to refuse a replay.
    let expires_at =
        Some(state.standing_approval().expires.after(std::time::Duration::from_secs(86_400)));
    Some(RecordWrite { key: key(tenant, &state.standing_approval().id), value, expires_at })
}

pub(crate) fn read(id: &str, record: &Record) -> Result<StandingRecord, KernelError> {
    let stored = |problem: String| KernelError::StoredRecord {
        what: "a standing approval",
        problem: format!("`{id}`: {problem}"),
    };
    let state: StandingApprovalState =
        parse_versioned(&record.value, Profile::Foreign, 1..=1).map_err(stored)?;
    if state.standing_approval().id.as_str() != id {
        return Err(stored("it names another one".to_owned()));
    }
    Ok(StandingRecord { version: record.version, state })
}

#[cfg(test)]
mod tests;
