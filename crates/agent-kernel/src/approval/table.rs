//! The held calls in memory.
//!
//! The table mirrors the ledger and the records in flight to it: every change is committed with the
//! version of the record as its guard and applied here afterwards.

mod state;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use weaver_policy::approval::Phase;
use weaver_types::ledger::Ledger;
use weaver_types::{ApprovalRequestId, Digest, Tenant, Timestamp};

use super::hold::{self, CallKey, EndedHold, OpenHold, StoredHold, commitment};
use super::logged_approvals::LoggedApprovals;
use super::waiters::{Waiter, wake_all};
use crate::canonical_arguments::CanonicalArguments;
use crate::error::KernelError;
use state::{HoldTableState, is_denied};

/// The most open requests.
pub(crate) const MAX_OPEN_REQUESTS: usize = 1_024;
/// The most open requests of one run.
pub(crate) const MAX_OPEN_PER_RUN: usize = 64;
/// The most bytes that one request may have.
pub(crate) const MAX_REQUEST_BYTES: usize = 512 * 1024;
/// The most bytes that all open requests may have.
const MAX_TOTAL_BYTES: usize = 64 * 1024 * 1024;
/// The most denied requests with the same key that are told apart; beyond it every call with that
/// key is denied until one of them expires.
const MAX_DENIALS_PER_KEY: usize = 16;

/// One open hold.
#[derive(Debug, Clone)]
pub(crate) struct HoldEntry {
    /// The version of its record; 0 until the record is committed.
    pub(crate) version: u64,
    /// The digest of its arguments.
    pub(crate) arguments: Digest,
    pub(crate) open: Arc<OpenHold>,
    /// The people who agreed in this process. This is not stored: after a restart they are asked
    /// again.
    pub(crate) granted_in_process: Option<Arc<BTreeSet<String>>>,
    /// The call that opened it was dropped before the ledger answered, so the record exists or
    /// never will.
    pub(crate) abandoned: bool,
    /// The size of the request in bytes.
    bytes: usize,
}

/// What the table has for a call.
pub(crate) enum HoldLookup {
    NotFound,
    Open(HoldEntry),
    Denied(EndedHold),
    /// So many calls with other arguments were denied that none is asked about before this time.
    TooManyDenied(Timestamp),
}

/// The result of reserving a place for a new hold.
#[derive(Debug)]
pub(crate) enum HoldReservation {
    /// The place is reserved.
    New,
    /// The same call has this hold already.
    Existing(HoldEntry),
}

/// Why no further request can be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldLimit {
    Total,
    Run,
    TooLarge,
}

/// The held calls in memory.
#[derive(Default)]
pub(crate) struct HoldTable(Mutex<HoldTableState>);

impl HoldTable {
    /// Loads all records; also returns the open requests that the log does not confirm.
    pub(crate) fn load(
        tenant: &Tenant,
        ledger: &dyn Ledger,
        now: Timestamp,
    ) -> Result<(Self, Vec<ApprovalRequestId>), KernelError> {
        let mut inner = HoldTableState::default();
        let all = hold::list_stored(tenant, ledger)?;
        let oldest = all.iter().filter_map(|(_, form)| match form {
            StoredHold::Open(open) => Some(open.request.opened_at),
            StoredHold::Ended(_) => None,
        });
        let proof = match oldest.min() {
            Some(since) => LoggedApprovals::read(ledger, since)?,
            None => LoggedApprovals::default(),
        };
        let mut void = Vec::new();
        for (version, form) in all {
            match form {
                StoredHold::Open(open) => {
                    let id = open.request.id.clone();
                    let digest = open.request.digest().map(|digest| digest.to_string());
                    if !digest.is_ok_and(|digest| proof.confirms_open(&id, &digest)) {
                        void.push(id);
                    }
                    inner.insert_stored(*open, version)?;
                }
                StoredHold::Ended(ended) if is_denied(&ended, now) => {
                    inner.remember_denial(*ended, now)
                }
                StoredHold::Ended(_) => {}
            }
        }
        Ok((Self(Mutex::new(inner)), void))
    }

    fn lock(&self) -> Option<MutexGuard<'_, HoldTableState>> {
        self.0.lock().ok()
    }

    /// What the table has for exactly this call; `None` when the table is poisoned.
    pub(crate) fn find(
        &self,
        call_key: &CallKey,
        arguments: &CanonicalArguments,
        now: Timestamp,
    ) -> Option<HoldLookup> {
        let inner = self.lock()?;
        let ids = inner.by_call_key.get(call_key).into_iter().flatten();
        let open =
            ids.filter_map(|id| inner.open.get(id)).find(|hold| hold.arguments == arguments.digest);
        if let Some(hold) = open {
            return Some(HoldLookup::Open(hold.clone()));
        }
        let denied: Vec<&EndedHold> = inner
            .denied
            .get(call_key)
            .into_iter()
            .flatten()
            .filter(|e| is_denied(e, now))
            .collect();
        let same = denied.iter().find(|e| e.commit == commitment(&e.nonce, &arguments.bytes));
        if let Some(ended) = same {
            return Some(HoldLookup::Denied(EndedHold::clone(ended)));
        }
        let is_full = denied.len() >= MAX_DENIALS_PER_KEY;
        let until = denied.iter().map(|ended| ended.deadline).min().filter(|_| is_full);
        Some(until.map_or(HoldLookup::NotFound, HoldLookup::TooManyDenied))
    }

    /// The ids of all open requests.
    pub(crate) fn open_requests(&self) -> Vec<ApprovalRequestId> {
        self.lock().map(|inner| inner.open.keys().cloned().collect()).unwrap_or_default()
    }

    pub(crate) fn get(&self, id: &ApprovalRequestId) -> Option<HoldEntry> {
        self.lock()?.open.get(id).cloned()
    }

    /// All open holds, the oldest first.
    pub(crate) fn all(&self) -> Vec<HoldEntry> {
        let Some(inner) = self.lock() else { return Vec::new() };
        let mut all: Vec<HoldEntry> = inner.open.values().cloned().collect();
        drop(inner);
        all.sort_by(|a, b| {
            let name =
                |hold: &HoldEntry| (hold.open.request.opened_at, hold.open.request.id.clone());
            name(a).cmp(&name(b))
        });
        all
    }

    /// When the oldest open hold was opened.
    pub(crate) fn first_opened(&self) -> Option<Timestamp> {
        self.lock()?.open.values().map(|hold| hold.open.request.opened_at).min()
    }

    /// The latest deadline of all open holds.
    pub(crate) fn last_deadline(&self) -> Option<Timestamp> {
        self.lock()?.open.values().map(|hold| hold.open.request.deadline).max()
    }

    /// Reserves a place for a new hold before its record is committed, unless the same call has a
    /// hold already.
    pub(crate) fn reserve(&self, open: OpenHold) -> Result<HoldReservation, HoldLimit> {
        let hold = HoldEntry::new(open, 0).ok_or(HoldLimit::TooLarge)?;
        let mut inner = self.lock().ok_or(HoldLimit::Total)?;
        let call_key = CallKey::of(&hold.open.request);
        let ids = inner.by_call_key.get(&call_key).into_iter().flatten();
        let same = ids.filter_map(|id| inner.open.get(id));
        if let Some(hold) = same.into_iter().find(|h| h.arguments == hold.arguments) {
            return Ok(HoldReservation::Existing(hold.clone()));
        }
        if hold.bytes > MAX_REQUEST_BYTES {
            return Err(HoldLimit::TooLarge);
        }
        if inner.open.len() >= MAX_OPEN_REQUESTS
            || inner.bytes.saturating_add(hold.bytes) > MAX_TOTAL_BYTES
        {
            return Err(HoldLimit::Total);
        }
        if inner.open_per_run.get(&call_key.run).is_some_and(|open| *open >= MAX_OPEN_PER_RUN) {
            return Err(HoldLimit::Run);
        }
        inner.insert(hold);
        Ok(HoldReservation::New)
    }

    /// Cancels a reservation whose record was not committed, and wakes those who wait for it.
    pub(crate) fn cancel_reservation(&self, id: &ApprovalRequestId) {
        let Some(mut inner) = self.lock() else { return };
        inner.remove(id);
        let wakers = inner.waiters.take(id);
        drop(inner);
        wake_all(wakers);
    }

    /// Marks a new hold whose call was dropped before its record was committed.
    pub(crate) fn abandon(&self, id: &ApprovalRequestId) {
        if let Some(hold) = self.lock().as_mut().and_then(|inner| inner.open.get_mut(id)) {
            hold.abandoned = true;
        }
    }

    /// Applies a committed record, unless a newer one is known.
    pub(crate) fn apply_committed(&self, version: u64, form: StoredHold, now: Timestamp) {
        let Some(mut inner) = self.lock() else { return };
        let id = form.id().clone();
        let phase = match form {
            StoredHold::Open(open) => {
                let Some(hold) = inner.open.get_mut(&id) else { return };
                if hold.version >= version {
                    return;
                }
                // The request itself never changes, so a record with another request is not ours.
                if open.request != hold.open.request {
                    return;
                }
                hold.version = version;
                hold.abandoned = false;
                hold.open = Arc::from(open);
                hold.open.state.phase().clone()
            }
            StoredHold::Ended(ended) => {
                inner.remove(&id);
                let phase = ended.phase.clone();
                if is_denied(&ended, now) {
                    inner.remember_denial(*ended, now);
                }
                inner.remember_end(id.clone(), phase.clone());
                phase
            }
        };
        let wakers = if phase == Phase::Requested { None } else { inner.waiters.take(&id) };
        drop(inner);
        wake_all(wakers);
    }

    /// Records that people in this process agreed. False when the hold is not open any more.
    pub(crate) fn mark_granted_in_process(
        &self,
        id: &ApprovalRequestId,
        people: BTreeSet<String>,
    ) -> bool {
        let Some(mut inner) = self.lock() else { return false };
        let Some(hold) = inner.open.get_mut(id) else { return false };
        hold.granted_in_process = Some(Arc::new(people));
        let wakers = inner.waiters.take(id);
        drop(inner);
        wake_all(wakers);
        true
    }

    /// The phase of a request. While it waits for people, the waiter is registered and gets its id.
    /// `None` for a request that is not in memory.
    pub(crate) fn phase(
        &self,
        id: &ApprovalRequestId,
        waiter: Option<Waiter<'_>>,
    ) -> Option<Phase> {
        let mut inner = self.lock()?;
        let phase = match inner.open.get(id) {
            Some(hold) if hold.granted_in_process.is_some() => Phase::Granted,
            Some(hold) => hold.open.state.phase().clone(),
            None => return inner.ended_phases.get(id).cloned(),
        };
        if let (Phase::Requested, Some(waiter)) = (&phase, waiter) {
            inner.waiters.register(id, waiter);
        }
        Some(phase)
    }

    /// Removes a waiter.
    pub(crate) fn remove_waiter(&self, id: &ApprovalRequestId, waiter_id: u64) {
        if let Some(mut inner) = self.lock() {
            inner.waiters.remove(id, waiter_id);
        }
    }

    /// True when the caller may ask the resolver now; false while another call does.
    pub(crate) fn claim_resolver(&self, id: &ApprovalRequestId) -> bool {
        self.lock().is_some_and(|mut inner| inner.being_resolved.insert(id.clone()))
    }

    pub(crate) fn release_resolver(&self, id: &ApprovalRequestId) {
        if let Some(mut inner) = self.lock() {
            inner.being_resolved.remove(id);
        }
    }

    /// Removes denials that have expired.
    pub(crate) fn evict_expired_denials(&self, now: Timestamp) {
        if let Some(mut inner) = self.lock() {
            inner.denied.retain(|_, all| {
                all.retain(|ended| is_denied(ended, now));
                !all.is_empty()
            });
        }
    }
}

impl HoldEntry {
    /// How many unreviewed writes of the run the people who agreed have seen. Those who agree in
    /// this process are shown the request as it was opened.
    pub(crate) fn seen_writes(&self) -> u64 {
        let OpenHold { request, state, .. } = &*self.open;
        match &self.granted_in_process {
            Some(_) => request.unreviewed_writes,
            None => state.seen_writes(request),
        }
    }

    fn new(open: OpenHold, version: u64) -> Option<Self> {
        let arguments = open.request.arguments_digest().ok()?;
        let bytes = open.request.to_bytes().ok()?.len();
        let open = Arc::new(open);
        Some(Self { version, arguments, open, granted_in_process: None, abandoned: false, bytes })
    }
}

#[cfg(test)]
mod tests;
