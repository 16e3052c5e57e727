//! The cache of runs: the committed state of each run, and its updates in flight to the ledger.
//!
//! Each update writes the run's record and is guarded by the version of the update before it. It
//! therefore applies only on top of exactly the updates it was computed from, and the stored state
//! is always the fold over the stored events. An update whose guard fails is computed again.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use ahash::RandomState;
use weaver_firewall::{Session, SessionBudget};
use weaver_types::ledger::{Ledger, Record, RecordWrite};
use weaver_types::{Label, RunId, Tenant, Timestamp};

use crate::error::KernelError;
use crate::provenance::{self, ProvenanceIndex};
use crate::reserved_amounts::ReservedAmounts;
use crate::revocation::Revocations;
use crate::run_fault::RunFault;
use crate::run_log::{RunLog, VerifiedRun};
use crate::run_masks::RunMasks;
use crate::run_state::{self, EncodedLabelCache, RunDelta, RunState, parse_state, state_key};

/// How many runs stay in memory; an evicted run is read again from the ledger when it continues.
const MAX_CACHED_RUNS: usize = 4_096;
/// How many runs are evicted at once when the cache is full.
const EVICTED_AT_ONCE: usize = MAX_CACHED_RUNS / 8;
/// How many updates of one run may be in flight before its record is read again.
const MAX_IN_FLIGHT: usize = 4_096;

/// The cached state of one run.
#[derive(Debug, Default)]
pub(crate) struct CachedRun {
    /// The state that is known to be committed.
    committed: RunState,
    /// The version of the committed record; 0 when there is no record.
    version: u64,
    /// Submitted updates whose commit is not confirmed yet, in the order of submission.
    in_flight: VecDeque<(u64, RunDelta)>,
    /// The committed state with all updates in flight applied.
    state: RunState,
    /// The encoded label of the last record, reused while the label stays the same.
    written_label: EncodedLabelCache,
    last_update_id: u64,
    /// How many calls of the run have finished, including those before it was loaded.
    finished_calls: u64,
    /// The kinds of signals in the last report.
    reported_kinds: BTreeSet<String>,
    /// The token session of the run, if the settings limit its tokens.
    session: Option<Session>,
    /// What running calls have reserved of the run's budget.
    reserved: ReservedAmounts,
}

/// A cached run with the provenance of its values and its masks. Each part has its own lock, so
/// that work on one does not wait for another.
#[derive(Debug, Default)]
pub(crate) struct RunSlotInner {
    run: Mutex<CachedRun>,
    provenance: Mutex<ProvenanceIndex>,
    masks: RunMasks,
}

impl RunSlotInner {
    /// The masks of the run.
    pub(crate) fn masks(&self) -> &RunMasks {
        &self.masks
    }

    /// The provenance index of the run. `None` when its lock is poisoned.
    pub(crate) fn provenance(&self) -> Option<MutexGuard<'_, ProvenanceIndex>> {
        self.provenance.lock().ok()
    }
}

/// A shared [`RunSlotInner`].
pub(crate) type RunSlot = Arc<RunSlotInner>;

impl CachedRun {
    /// The state with all updates in flight applied.
    pub(crate) fn state(&self) -> &RunState {
        &self.state
    }

    /// What running calls have reserved.
    pub(crate) fn reserved(&self) -> ReservedAmounts {
        self.reserved
    }

    /// Replaces one reservation by another.
    pub(crate) fn replace_reservation(
        &mut self,
        instead_of: ReservedAmounts,
        next: ReservedAmounts,
    ) {
        self.reserved = self.reserved.minus(instead_of).plus(next);
    }

    /// How many calls of the run have finished.
    pub(crate) fn finished_calls(&self) -> u64 {
        self.finished_calls
    }

    /// Counts a finished call; returns how many had finished before it.
    pub(crate) fn count_finished_call(&mut self) -> u64 {
        let before = self.finished_calls;
        self.finished_calls = before.saturating_add(1);
        before
    }

    /// The token session, if the settings limit the tokens of a run.
    pub(crate) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Remembers the kinds of the current report; true when one of them was not in the last report.
    pub(crate) fn replace_reported_kinds(&mut self, kinds: BTreeSet<String>) -> bool {
        let has_new_kind = !kinds.is_subset(&self.reported_kinds);
        self.reported_kinds = kinds;
        has_new_kind
    }

    /// True until the first event of the run is submitted.
    pub(crate) fn is_unstarted(&self) -> bool {
        self.expected_version().is_none()
    }

    /// The version that the record will have once all updates in flight are committed; `None` when
    /// there will be no record.
    pub(crate) fn expected_version(&self) -> Option<u64> {
        let in_flight = u64::try_from(self.in_flight.len()).unwrap_or(u64::MAX);
        Some(self.version.saturating_add(in_flight)).filter(|version| *version > 0)
    }

    /// True when so many updates are in flight that some must have been abandoned.
    pub(crate) fn is_backlogged(&self) -> bool {
        self.in_flight.len() >= MAX_IN_FLIGHT
    }

    /// The record of the state that an update leads to.
    pub(crate) fn put(
        &mut self,
        tenant: &Tenant,
        run: &RunId,
        next: &RunState,
    ) -> Option<RecordWrite> {
        run_state::state_put(tenant, run, next, &mut self.written_label)
    }

    /// Remembers a submitted update; returns its number.
    pub(crate) fn enqueue(&mut self, delta: RunDelta, next: RunState) -> u64 {
        self.last_update_id = self.last_update_id.wrapping_add(1);
        self.in_flight.push_back((self.last_update_id, delta));
        self.state = next;
        self.last_update_id
    }

    /// Marks an update as committed, and with it every earlier one: each guards the next.
    pub(crate) fn mark_committed(&mut self, step: u64) {
        let Some(index) = self.position(step) else { return };
        for (_, delta) in self.in_flight.drain(..=index) {
            self.committed = std::mem::take(&mut self.committed).apply(&delta);
            self.version = self.version.saturating_add(1);
        }
    }

    /// Removes an update that the ledger refused for a reason of its own, and recomputes the state.
    pub(crate) fn remove_refused(&mut self, step: u64) {
        let Some(index) = self.position(step) else { return };
        self.in_flight.remove(index);
        let state = self.committed.clone();
        self.state = self.in_flight.iter().fold(state, |state, (_, delta)| state.apply(delta));
    }

    /// True when every earlier update is committed.
    pub(crate) fn is_oldest_in_flight(&self, step: u64) -> bool {
        self.in_flight.front().is_some_and(|(first, _)| *first == step)
    }

    /// True while the update counts as in flight.
    pub(crate) fn is_in_flight(&self, step: u64) -> bool {
        self.position(step).is_some()
    }

    /// Restarts from the stored record and forgets the updates in flight. If one of them is
    /// committed after all, the guard of the next update fails, and the record is read again.
    ///
    /// The record is not compared with the log here. That happened when the run was first read, and
    /// a ledger that another program writes to in the meantime stops.
    pub(crate) fn reset(&mut self, record: Option<&Record>) -> Result<(), KernelError> {
        let settled = record.map_or_else(|| Ok(RunState::default()), |r| parse_state(&r.value))?;
        self.set_committed(settled, record.map_or(0, |record| record.version));
        Ok(())
    }

    fn set_committed(&mut self, settled: RunState, version: u64) {
        self.version = version;
        self.state = settled.clone();
        self.committed = settled;
        self.in_flight.clear();
    }

    fn position(&self, step: u64) -> Option<usize> {
        self.in_flight.iter().position(|(id, _)| *id == step)
    }
}

/// The entry of a run in the cache, which is empty until the run is loaded. Loading a run holds the
/// lock of its own entry only, so that no other run waits for it.
type CacheEntry = Arc<Mutex<Option<RunSlot>>>;

/// The entries of the cached runs, each with the number of its last use.
#[derive(Default)]
struct CacheEntries {
    by_run: HashMap<RunId, (CacheEntry, u64), RandomState>,
    uses: u64,
}

impl CacheEntries {
    fn entry_of(&mut self, run: &RunId) -> CacheEntry {
        self.uses = self.uses.saturating_add(1);
        if let Some((entry, last_use)) = self.by_run.get_mut(run) {
            *last_use = self.uses;
            return Arc::clone(entry);
        }
        if self.by_run.len() >= MAX_CACHED_RUNS {
            self.evict();
        }
        let entry = CacheEntry::default();
        self.by_run.insert(run.clone(), (Arc::clone(&entry), self.uses));
        entry
    }

    /// Evicts some of the runs that nobody holds: first those without masks, since masks exist only
    /// in memory, and of these the least recently used.
    ///
    /// A run that nobody holds has no running call: its state is stored, or its abandoned updates
    /// are found by the version guards.
    fn evict(&mut self) {
        let mut evictable: Vec<(bool, u64, RunId)> = Vec::new();
        for (run, (entry, last_use)) in &self.by_run {
            let Ok(slot) = entry.try_lock() else { continue };
            let slots = slot.as_ref().map_or(1, Arc::strong_count);
            if Arc::strong_count(entry) == 1 && slots == 1 {
                let has_masks = slot.as_ref().is_some_and(|slot| !slot.masks.table().is_empty());
                evictable.push((has_masks, *last_use, run.clone()));
            }
        }
        evictable.sort_unstable();
        for (_, _, run) in evictable.into_iter().take(EVICTED_AT_ONCE) {
            self.by_run.remove(&run);
        }
    }
}

/// The cached runs of a tenant.
pub(crate) struct RunCache {
    tenant: Tenant,
    cached: Mutex<CacheEntries>,
    log: Mutex<RunLog>,
    is_log_read: AtomicBool,
    revocations: Arc<Revocations>,
    session_budget: Option<SessionBudget>,
}

impl RunCache {
    /// An empty cache; each run gets this token budget.
    pub(crate) fn new(
        tenant: Tenant,
        budget: Option<SessionBudget>,
        revocations: Arc<Revocations>,
    ) -> Self {
        let (cached, log, log_read) = (Mutex::default(), Mutex::default(), AtomicBool::new(false));
        Self { tenant, cached, log, is_log_read: log_read, revocations, session_budget: budget }
    }

    /// The run that a client of the host entered last, with the time of the run's last event;
    /// `None` when that run has ended.
    pub(crate) fn entered_run(
        &self,
        client: &str,
        ledger: &dyn Ledger,
    ) -> Result<Option<(RunId, Timestamp)>, KernelError> {
        self.read_log(ledger)?;
        self.log.lock().map_err(|_| poisoned_run_error())?.entered_run(&self.tenant, client, ledger)
    }

    /// Reads the end of the log once, before anything relies on runs or revocations.
    pub(crate) fn read_log(&self, ledger: &dyn Ledger) -> Result<(), KernelError> {
        if self.is_log_read.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut log = self.log.lock().map_err(|_| poisoned_run_error())?;
        self.revocations.add_logged(&self.tenant, log.index_and_take_revocations(ledger)?);
        self.is_log_read.store(true, Ordering::Release);
        Ok(())
    }

    /// The slot of a run; loads it from the ledger when it is not cached.
    pub(crate) fn slot(&self, run: &RunId, ledger: &dyn Ledger) -> Result<RunSlot, KernelError> {
        self.read_log(ledger)?;
        let entry = self.cached.lock().map_err(|_| poisoned_run_error())?.entry_of(run);
        let mut entry = entry.lock().map_err(|_| poisoned_run_error())?;
        if let Some(slot) = entry.as_ref() {
            return Ok(Arc::clone(slot));
        }
        let slot = Arc::new(self.load(run, ledger)?);
        *entry = Some(Arc::clone(&slot));
        Ok(slot)
    }

    /// Loads a run from the ledger. Its events are read without the lock of the log, since there
    /// may be many.
    fn load(&self, run: &RunId, ledger: &dyn Ledger) -> Result<RunSlotInner, KernelError> {
        let (tenant, mut cached) = (&self.tenant, CachedRun::default());
        let verified = match self.read_verified(run, ledger) {
            // Pruning may have come between the reading of the log and that of the run's events;
            // the log restates them then.
            Err(KernelError::UnprovenRun { fault: RunFault::Pruned, .. }) => {
                self.read_verified(run, ledger)
            }
            read => read,
        };
        let VerifiedRun { state, version, provenance } = verified?;
        cached.set_committed(state, version);
        let provenance = Mutex::new(provenance::read_index(tenant, run, ledger, provenance)?);
        let spent = cached.committed.meters.prompt_tokens;
        cached.session = self.session_budget.as_ref().map(|budget| budget.open(spent));
        // Calls before this start count as finished. A run with a label but no call has at least
        // viewed an older result, which counts as one.
        let touched = u64::from(cached.committed.label != Label::clean());
        cached.finished_calls = cached.committed.meters.tool_calls.max(touched);
        let masks = RunMasks::read(tenant, run, ledger)?;
        Ok(RunSlotInner { run: Mutex::new(cached), provenance, masks })
    }

    /// Reads a run, and verifies it against the log.
    fn read_verified(&self, run: &RunId, ledger: &dyn Ledger) -> Result<VerifiedRun, KernelError> {
        let record = || ledger.read(&state_key(&self.tenant, run));
        let mut log = self.log.lock().map_err(|_| poisoned_run_error())?;
        let stored_run = log.find_run(run, ledger, record)?;
        drop(log);
        stored_run.verify(ledger)
    }

    /// A slot with the record of a run as it is stored, not compared with the log. Nothing may be
    /// decided by it, so it is not cached.
    pub(crate) fn unproven_slot(
        &self,
        run: &RunId,
        ledger: &dyn Ledger,
    ) -> Result<RunSlot, KernelError> {
        let mut cached = CachedRun::default();
        cached.reset(ledger.read(&state_key(&self.tenant, run))?.as_ref())?;
        Ok(Arc::new(RunSlotInner { run: Mutex::new(cached), ..RunSlotInner::default() }))
    }
}

fn poisoned_run_error() -> KernelError {
    KernelError::StoredRecord {
        what: "a run",
        problem: "internal error: its lock is poisoned".to_owned(),
    }
}

/// Locks the run of a slot. `None` when its lock is poisoned, which makes the run unusable.
pub(crate) fn lock_run(slot: &RunSlot) -> Option<MutexGuard<'_, CachedRun>> {
    slot.run.lock().ok()
}

#[cfg(test)]
mod tests;
