//! Standing approvals: given in advance, kept with the uses that are left.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use weaver_policy::approval::StandingUse;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Ledger, MAX_PAGE, Namespace, Put, Record, RecordKey};
use weaver_types::{StandingId, Tenant, Timestamp};

use super::proof::Proof;
use crate::error::KernelError;

/// The most standing approvals that are kept, ended ones until they expire included.
pub(crate) const MAX_STANDING: usize = 1_024;

/// A standing approval as its record holds it.
#[derive(Debug, Clone)]
pub(crate) struct StandingRecord {
    pub(crate) version: u64,
    pub(crate) state: StandingUse,
}

/// The standing approvals in memory. The ledger's records are the guard; this may lag behind.
pub(crate) struct StandingApprovals(RwLock<BTreeMap<StandingId, Arc<StandingRecord>>>);

impl StandingApprovals {
    pub(crate) fn load(
        tenant: &Tenant,
        ledger: &dyn Ledger,
        now: Timestamp,
    ) -> Result<Self, KernelError> {
        let mut all = BTreeMap::new();
        let mut after: Option<String> = None;
        loop {
            let page = ledger.list(tenant, Namespace::Standing, after.as_deref(), MAX_PAGE)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (id, record) in page {
                let used = read(&id, &record)?;
                all.insert(used.state.standing().id.clone(), used);
            }
        }
        check(&mut all, ledger, now)?;
        Ok(Self(RwLock::new(all.into_iter().map(|(id, used)| (id, Arc::new(used))).collect())))
    }

    /// All that could still release something, in the order of their names.
    pub(crate) fn in_force(&self, now: Timestamp) -> Vec<Arc<StandingRecord>> {
        let Ok(all) = self.0.read() else { return Vec::new() };
        all.values()
            .filter(|used| used.state.left() > 0 && now < used.state.standing().expires)
            .cloned()
            .collect()
    }

    pub(crate) fn get(&self, id: &StandingId) -> Option<StandingRecord> {
        self.0.read().ok()?.get(id).map(|used| used.as_ref().clone())
    }

    /// How many are kept; an unusable table is full.
    pub(crate) fn len(&self) -> usize {
        self.0.read().map_or(usize::MAX, |all| all.len())
    }

    /// Notes a committed record. One that is older than what is known changes nothing.
    pub(crate) fn committed(&self, used: StandingRecord) {
        if let Ok(mut all) = self.0.write() {
            let id = used.state.standing().id.clone();
            if all.get(&id).is_none_or(|known| known.version < used.version) {
                all.insert(id, Arc::new(used));
            }
        }
    }

    /// Forgets what is over. Its record stays in the ledger until the store forgets it, so that
    /// the same file is not taken in twice.
    pub(crate) fn tidy(&self, now: Timestamp) {
        if let Ok(mut all) = self.0.write() {
            all.retain(|_, used| now < used.state.standing().expires);
        }
    }
}

/// Takes back those of which the log tells more uses than their records, or their end: somebody put
/// an older record in its place.
fn check(
    all: &mut BTreeMap<StandingId, StandingRecord>,
    ledger: &dyn Ledger,
    now: Timestamp,
) -> Result<(), KernelError> {
    let mut in_force: Vec<&mut StandingRecord> = all
        .values_mut()
        .filter(|used| used.state.left() > 0 && now < used.state.standing().expires)
        .collect();
    let Some(since) = in_force.iter().map(|used| used.state.standing().opened_at).min() else {
        return Ok(());
    };
    let proof = Proof::of_standing(ledger, since)?;
    for used in &mut in_force {
        if proof.exceeds(used.state.standing(), used.state.used()) {
            used.state.revoke("kernel");
        }
    }
    Ok(())
}

/// Where it is stored.
pub(crate) fn key(tenant: &Tenant, id: &StandingId) -> RecordKey {
    RecordKey::new(tenant.clone(), Namespace::Standing, id)
}

/// The record. `None` when it has no canonical form.
pub(crate) fn put(tenant: &Tenant, state: &StandingUse) -> Option<Put> {
    let value = canonical::of(state, Profile::Foreign).ok()?;
    // A file that is over is refused for that; until then its record must be there.
    let expires_at = Some(state.standing().expires.after(std::time::Duration::from_secs(86_400)));
    Some(Put { key: key(tenant, &state.standing().id), value, expires_at })
}

pub(crate) fn read(id: &str, record: &Record) -> Result<StandingRecord, KernelError> {
    let stored = |problem: String| KernelError::Stored {
        what: "a standing approval",
        problem: format!("`{id}`: {problem}"),
    };
    let value = canonical::parse(&record.value, Profile::Foreign)
        .map_err(|error| stored(error.to_string()))?;
    let version = value.get("v").and_then(serde_json::Value::as_u64);
    if version != Some(1) {
        let problem = format!("its version is {version:?}, this build knows 1; use a newer build");
        return Err(stored(problem));
    }
    let state: StandingUse =
        serde_json::from_value(value).map_err(|error| stored(error.to_string()))?;
    if state.standing().id.as_str() != id {
        return Err(stored("it names another one".to_owned()));
    }
    Ok(StandingRecord { version: record.version, state })
}

#[cfg(test)]
mod tests;
