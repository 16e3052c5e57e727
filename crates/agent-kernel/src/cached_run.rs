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
use crate::run_log::{RunLog, VerifiedRun};
use crate::run_masks::RunMasks;
use crate::run_state::{self, EncodedLabelCache, RunDelta, RunState, parse_state, state_key};

/// How many runs stay in memory; an evicted run is read again from the ledger when it continues.
const MAX_CACHED_RUNS: usize = 4_096;
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
        let Some(place) = self.position(step) else { return };
        for (_, delta) in self.in_flight.drain(..=place) {
            self.committed = std::mem::take(&mut self.committed).apply(&delta);
            self.version = self.version.saturating_add(1);
        }
    }

    /// Removes an update that the ledger refused for a reason of its own, and recomputes the state.
    pub(crate) fn remove_refused(&mut self, step: u64) {
        let Some(place) = self.position(step) else { return };
        self.in_flight.remove(place);
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

/// The cached runs of a tenant.
pub(crate) struct RunCache {
    tenant: Tenant,
    cached: Mutex<HashMap<RunId, RunSlot, RandomState>>,
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
        let mut runs = self.cached.lock().map_err(|_| poisoned_run_error())?;
        if let Some(slot) = runs.get(run) {
            return Ok(Arc::clone(slot));
        }
        if runs.len() >= MAX_CACHED_RUNS {
            // A slot that nobody else holds has no running call: its state is stored, or its
            // abandoned updates are found by the version guards.
            runs.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        let (tenant, mut cached) = (&self.tenant, CachedRun::default());
        let mut log = self.log.lock().map_err(|_| poisoned_run_error())?;
        let VerifiedRun { state, version, provenance } =
            log.verify_run(run, ledger, || ledger.read(&state_key(tenant, run)))?;
        drop(log);
        cached.set_committed(state, version);
        let provenance = Mutex::new(provenance::read_index(tenant, run, ledger, provenance)?);
        let spent = cached.committed.meters.prompt_tokens;
        cached.session = self.session_budget.as_ref().map(|budget| budget.open(spent));
        // Calls before this start count as finished. A run with a label but no call has at least
        // viewed an older result, which counts as one.
        let touched = u64::from(cached.committed.label != Label::clean());
        cached.finished_calls = cached.committed.meters.tool_calls.max(touched);
        let masks = RunMasks::read(tenant, run, ledger)?;
        let slot = Arc::new(RunSlotInner { run: Mutex::new(cached), provenance, masks });
        runs.insert(run.clone(), Arc::clone(&slot));
        Ok(slot)
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
    KernelError::Stored {
        what: "a run",
        problem: "internal error: its lock is poisoned".to_owned(),
    }
}

/// Locks the run of a slot. `None` when its lock is poisoned, which makes the run unusable.
pub(crate) fn lock_run(slot: &RunSlot) -> Option<MutexGuard<'_, CachedRun>> {
    slot.run.lock().ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::revocation::RevocableLifetimes;

    fn call() -> RunDelta {
        RunDelta { tool_calls: 1, ..RunDelta::default() }
    }

    fn launch(run: &mut CachedRun) -> u64 {
        let next = run.state().clone().apply(&call());
        run.enqueue(call(), next)
    }

    #[test]
    fn a_landed_step_settles_all_before_it() {
        let mut run = CachedRun::default();
        assert!(run.is_unstarted());
        let steps = [launch(&mut run), launch(&mut run), launch(&mut run)];
        assert_eq!((run.expected_version(), run.state().meters.tool_calls), (Some(3), 3));
        run.mark_committed(steps[1]);
        assert_eq!((run.version, run.in_flight.len(), run.committed.meters.tool_calls), (2, 1, 2));
        run.mark_committed(steps[0]);
        assert_eq!(run.version, 2, "it landed already");
        assert_eq!(run.expected_version(), Some(3));
    }

    #[test]
    fn a_refused_step_is_taken_back() {
        let mut run = CachedRun::default();
        let steps = [launch(&mut run), launch(&mut run)];
        run.remove_refused(steps[0]);
        assert_eq!((run.expected_version(), run.state().meters.tool_calls), (Some(1), 1));
        run.remove_refused(steps[1]);
        assert!(run.is_unstarted() && run.state() == &RunState::default());
    }

    #[test]
    fn only_the_first_step_in_flight_is_the_next() {
        let mut run = CachedRun::default();
        let (first, second) = (launch(&mut run), launch(&mut run));
        assert!(run.is_oldest_in_flight(first) && !run.is_oldest_in_flight(second));
        run.mark_committed(first);
        assert!(run.is_oldest_in_flight(second) && !run.is_oldest_in_flight(first));
        run.mark_committed(second);
        assert!(!run.is_oldest_in_flight(second));
    }

    #[test]
    fn each_call_that_ends_has_its_number() {
        let mut run = CachedRun::default();
        assert_eq!(
            [run.count_finished_call(), run.count_finished_call(), run.count_finished_call()],
            [0, 1, 2]
        );
        assert_eq!(run.finished_calls(), 3);
    }

    #[test]
    fn a_run_is_crowded_with_4_096_steps_in_flight() {
        let mut run = CachedRun::default();
        for _ in 0..4_095 {
            launch(&mut run);
        }
        assert!(!run.is_backlogged());
        launch(&mut run);
        assert!(run.is_backlogged());
    }

    #[test]
    fn a_full_memory_forgets_the_runs_that_nobody_holds() {
        use weaver_types::SeededRandom;
        let random = std::sync::Arc::new(SeededRandom::new(1));
        let ledger = weaver_trace_store::MemoryLedger::with_random_id(random).unwrap();
        let lives =
            RevocableLifetimes { max_lifetime: Duration::ZERO, last_expiry: Timestamp::default() };
        let revocations = Revocations::load(&Tenant::default(), &ledger, lives).unwrap();
        let runs = RunCache::new(Tenant::default(), None, Arc::new(revocations));
        let slot =
            |n: usize| runs.slot(&RunId::parse(format!("run_{n}")).unwrap(), &ledger).unwrap();
        let known = || runs.cached.lock().unwrap().len();
        let held = slot(0);
        for n in 1..4_096 {
            slot(n);
        }
        assert_eq!(known(), 4_096);
        slot(4_095);
        assert_eq!(known(), 4_096, "one that is known takes no room");
        slot(4_096);
        assert_eq!(known(), 2);
        assert!(Arc::ptr_eq(&slot(0), &held), "the one that is held stays");
    }
}
