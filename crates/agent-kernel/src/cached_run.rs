//! Runs in memory, and what of them is on its way to the ledger.
//!
//! Each step of a run writes the run's record with the version of the one before it as its guard.
//! So a step applies only on top of exactly the steps it was computed from, and the stored state
//! is at every moment the fold over the stored events. A step that finds the guard broken is
//! computed again.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use ahash::RandomState;
use weaver_firewall::{Session, SessionBudget};
use weaver_types::ledger::{Ledger, Put, Record};
use weaver_types::{Label, RunId, Tenant, Timestamp};

use crate::error::KernelError;
use crate::masks::RunMasks;
use crate::provenance::{self, Index};
use crate::reserved_amounts::ReservedAmounts;
use crate::revocation::Revocations;
use crate::run_log::{ProvenRun, RunLog};
use crate::run_state::{self, RunDelta, RunState, WrittenLabel, key, read};

/// How many runs are kept in memory; others are read again when they go on.
const MAX_CACHED: usize = 4_096;
/// How many steps of one run may be on their way before its record is read again.
const MAX_FLIGHT: usize = 4_096;

/// A run in memory.
#[derive(Debug, Default)]
pub(crate) struct CachedRun {
    /// What is known to be committed.
    settled: RunState,
    /// The version of its record; 0 where there is none.
    version: u64,
    /// What was submitted and is not known to be done, in the order of submission.
    flight: VecDeque<(u64, RunDelta)>,
    /// What is settled with all that is in flight.
    state: RunState,
    /// The label of the state that was written last.
    written: WrittenLabel,
    last: u64,
    /// How many of its calls have finished, those of before included.
    finished: u64,
    /// The sorts of signals that were raised last.
    reported_kinds: BTreeSet<String>,
    /// What it may give out in tokens, where that is bounded.
    session: Option<Session>,
    /// What its calls under way have set aside of its budget.
    held: ReservedAmounts,
}

/// A run that is being worked with, where its values come from, and their masks: who looks at the
/// one does not wait for the other.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    run: Mutex<CachedRun>,
    provenance: Mutex<Index>,
    masks: RunMasks,
}

impl Slot {
    /// Its masks.
    pub(crate) fn masks(&self) -> &RunMasks {
        &self.masks
    }

    /// The origins of its values. Nothing where a thread died over them.
    pub(crate) fn provenance(&self) -> Option<MutexGuard<'_, Index>> {
        self.provenance.lock().ok()
    }
}

/// The same, shared.
pub(crate) type RunSlot = Arc<Slot>;

impl CachedRun {
    /// The state with everything that is on its way.
    pub(crate) fn state(&self) -> &RunState {
        &self.state
    }

    /// What its calls under way have set aside.
    pub(crate) fn held(&self) -> ReservedAmounts {
        self.held
    }

    /// Sets something else aside than before.
    pub(crate) fn hold(&mut self, instead_of: ReservedAmounts, next: ReservedAmounts) {
        self.held = self.held.minus(instead_of).plus(next);
    }

    /// How many of its calls have finished.
    pub(crate) fn finished(&self) -> u64 {
        self.finished
    }

    /// One more call has finished; how many had before.
    pub(crate) fn finish(&mut self) -> u64 {
        let before = self.finished;
        self.finished = before.saturating_add(1);
        before
    }

    /// The run's session, where tokens are counted.
    pub(crate) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// True when one of these sorts of signals was not raised last time.
    pub(crate) fn tell(&mut self, sorts: BTreeSet<String>) -> bool {
        let anew = !sorts.is_subset(&self.reported_kinds);
        self.reported_kinds = sorts;
        anew
    }

    /// True until its first event is on its way.
    pub(crate) fn is_fresh(&self) -> bool {
        self.expected().is_none()
    }

    /// The version of the record once all that is in flight is done; `None` for no record.
    pub(crate) fn expected(&self) -> Option<u64> {
        let flight = u64::try_from(self.flight.len()).unwrap_or(u64::MAX);
        Some(self.version.saturating_add(flight)).filter(|version| *version > 0)
    }

    /// True when so much is in flight that some of it must have been abandoned.
    pub(crate) fn is_crowded(&self) -> bool {
        self.flight.len() >= MAX_FLIGHT
    }

    /// The record of the state that a step leads to.
    pub(crate) fn put(&mut self, tenant: &Tenant, run: &RunId, next: &RunState) -> Option<Put> {
        run_state::put(tenant, run, next, &mut self.written)
    }

    /// Notes that a step was submitted; gives it a number.
    pub(crate) fn launch(&mut self, delta: RunDelta, next: RunState) -> u64 {
        self.last = self.last.wrapping_add(1);
        self.flight.push_back((self.last, delta));
        self.state = next;
        self.last
    }

    /// A step is committed, and with it all before it: each is the guard of the next.
    pub(crate) fn landed(&mut self, step: u64) {
        let Some(place) = self.place(step) else { return };
        for (_, delta) in self.flight.drain(..=place) {
            self.settled = std::mem::take(&mut self.settled).after(&delta);
            self.version = self.version.saturating_add(1);
        }
    }

    /// A step was refused for a reason of its own.
    pub(crate) fn refused(&mut self, step: u64) {
        let Some(place) = self.place(step) else { return };
        self.flight.remove(place);
        let state = self.settled.clone();
        self.state = self.flight.iter().fold(state, |state, (_, delta)| state.after(delta));
    }

    /// True when all before the step is committed.
    pub(crate) fn is_next(&self, step: u64) -> bool {
        self.flight.front().is_some_and(|(first, _)| *first == step)
    }

    /// True when the step is still counted as under way.
    pub(crate) fn counts_on(&self, step: u64) -> bool {
        self.place(step).is_some()
    }

    /// Starts again from what is stored. What is in flight is forgotten: if it lands after all,
    /// the guard of the next step breaks, and this is called again.
    ///
    /// The record is not compared with the log here: it was when the run was first read, and a ledger
    /// that another program writes meanwhile ends.
    pub(crate) fn reset(&mut self, record: Option<&Record>) -> Result<(), KernelError> {
        let settled = record.map_or_else(|| Ok(RunState::default()), |r| read(&r.value))?;
        self.settle(settled, record.map_or(0, |record| record.version));
        Ok(())
    }

    fn settle(&mut self, settled: RunState, version: u64) {
        self.version = version;
        self.state = settled.clone();
        self.settled = settled;
        self.flight.clear();
    }

    fn place(&self, step: u64) -> Option<usize> {
        self.flight.iter().position(|(id, _)| *id == step)
    }
}

/// The runs of a tenant in memory.
pub(crate) struct Runs {
    tenant: Tenant,
    hot: Mutex<HashMap<RunId, RunSlot, RandomState>>,
    log: Mutex<RunLog>,
    log_read: AtomicBool,
    revocations: Arc<Revocations>,
    budget: Option<SessionBudget>,
}

impl Runs {
    /// No runs yet; each will have this budget of tokens.
    pub(crate) fn new(
        tenant: Tenant,
        budget: Option<SessionBudget>,
        revocations: Arc<Revocations>,
    ) -> Self {
        let (hot, log, log_read) = (Mutex::default(), Mutex::default(), AtomicBool::new(false));
        Self { tenant, hot, log, log_read, revocations, budget }
    }

    /// The run that a client of the host entered last, unless it is over, and when its last event
    /// was.
    pub(crate) fn entered(
        &self,
        client: &str,
        ledger: &dyn Ledger,
    ) -> Result<Option<(RunId, Timestamp)>, KernelError> {
        self.read_log(ledger)?;
        self.log.lock().map_err(|_| died())?.entered(&self.tenant, client, ledger)
    }

    /// Reads the log once, as far back as it is looked at, before anything is said of runs or of what was
    /// revoked.
    pub(crate) fn read_log(&self, ledger: &dyn Ledger) -> Result<(), KernelError> {
        if self.log_read.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut log = self.log.lock().map_err(|_| died())?;
        self.revocations.restore(&self.tenant, log.begin(ledger)?);
        self.log_read.store(true, Ordering::Release);
        Ok(())
    }

    /// The run's slot, read from the ledger when it is not in memory.
    pub(crate) fn slot(&self, run: &RunId, ledger: &dyn Ledger) -> Result<RunSlot, KernelError> {
        self.read_log(ledger)?;
        let mut runs = self.hot.lock().map_err(|_| died())?;
        if let Some(slot) = runs.get(run) {
            return Ok(Arc::clone(slot));
        }
        if runs.len() >= MAX_CACHED {
            // What nobody holds is stored, or was abandoned and is found by the guards.
            runs.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        let (tenant, mut hot) = (&self.tenant, CachedRun::default());
        let mut log = self.log.lock().map_err(|_| died())?;
        let ProvenRun { state, version, provenance } =
            log.proven(run, ledger, || ledger.read(&key(tenant, run)))?;
        drop(log);
        hot.settle(state, version);
        let provenance = Mutex::new(provenance::read(tenant, run, ledger, provenance)?);
        let spent = hot.settled.meters.prompt_tokens;
        hot.session = self.budget.as_ref().map(|budget| budget.open(spent));
        // What was before counts as finished, a look at an older result too.
        let touched = u64::from(hot.settled.label != Label::clean());
        hot.finished = hot.settled.meters.tool_calls.max(touched);
        let masks = RunMasks::read(tenant, run, ledger)?;
        let slot = Arc::new(Slot { run: Mutex::new(hot), provenance, masks });
        runs.insert(run.clone(), Arc::clone(&slot));
        Ok(slot)
    }
}

fn died() -> KernelError {
    KernelError::Stored { what: "a run", problem: "a thread died while it held it".to_owned() }
}

/// Locks a slot; a thread that died while it held one makes the run unusable.
pub(crate) fn lock(slot: &RunSlot) -> Option<MutexGuard<'_, CachedRun>> {
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
        let next = run.state().clone().after(&call());
        run.launch(call(), next)
    }

    #[test]
    fn a_landed_step_settles_all_before_it() {
        let mut run = CachedRun::default();
        assert!(run.is_fresh());
        let steps = [launch(&mut run), launch(&mut run), launch(&mut run)];
        assert_eq!((run.expected(), run.state().meters.tool_calls), (Some(3), 3));
        run.landed(steps[1]);
        assert_eq!((run.version, run.flight.len(), run.settled.meters.tool_calls), (2, 1, 2));
        run.landed(steps[0]);
        assert_eq!(run.version, 2, "it landed already");
        assert_eq!(run.expected(), Some(3));
    }

    #[test]
    fn a_refused_step_is_taken_back() {
        let mut run = CachedRun::default();
        let steps = [launch(&mut run), launch(&mut run)];
        run.refused(steps[0]);
        assert_eq!((run.expected(), run.state().meters.tool_calls), (Some(1), 1));
        run.refused(steps[1]);
        assert!(run.is_fresh() && run.state() == &RunState::default());
    }

    #[test]
    fn only_the_first_step_in_flight_is_the_next() {
        let mut run = CachedRun::default();
        let (first, second) = (launch(&mut run), launch(&mut run));
        assert!(run.is_next(first) && !run.is_next(second));
        run.landed(first);
        assert!(run.is_next(second) && !run.is_next(first));
        run.landed(second);
        assert!(!run.is_next(second));
    }

    #[test]
    fn each_call_that_ends_has_its_number() {
        let mut run = CachedRun::default();
        assert_eq!([run.finish(), run.finish(), run.finish()], [0, 1, 2]);
        assert_eq!(run.finished(), 3);
    }

    #[test]
    fn a_run_is_crowded_with_4_096_steps_in_flight() {
        let mut run = CachedRun::default();
        for _ in 0..4_095 {
            launch(&mut run);
        }
        assert!(!run.is_crowded());
        launch(&mut run);
        assert!(run.is_crowded());
    }

    #[test]
    fn a_full_memory_forgets_the_runs_that_nobody_holds() {
        use weaver_types::SeededRandom;
        let random = std::sync::Arc::new(SeededRandom::new(1));
        let ledger = weaver_trace_store::MemoryLedger::fresh(random).unwrap();
        let lives = RevocableLifetimes { longest: Duration::ZERO, until: Timestamp::default() };
        let revocations = Revocations::load(&Tenant::default(), &ledger, lives).unwrap();
        let runs = Runs::new(Tenant::default(), None, Arc::new(revocations));
        let slot =
            |n: usize| runs.slot(&RunId::parse(format!("run_{n}")).unwrap(), &ledger).unwrap();
        let known = || runs.hot.lock().unwrap().len();
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
