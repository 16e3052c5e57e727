use std::sync::OnceLock;
use std::time::Duration;

use weaver_trace_store::MemoryLedger;
use weaver_types::EventKind;
use weaver_types::ledger::{
    Batch, CommitTicket, Durability, LedgerError, Namespace, NewEvent, RecordKey, StoredEvent,
    TreeHead,
};

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

fn run_id(n: usize) -> RunId {
    RunId::parse(format!("run_{n}")).unwrap()
}

fn memory() -> MemoryLedger {
    let random = Arc::new(weaver_types::SeededRandom::new(1));
    MemoryLedger::with_random_id(random).unwrap()
}

fn cache(ledger: &dyn Ledger) -> RunCache {
    let lives =
        RevocableLifetimes { max_lifetime: Duration::ZERO, last_expiry: Timestamp::default() };
    let revocations = Revocations::load(&Tenant::default(), ledger, lives).unwrap();
    RunCache::new(Tenant::default(), None, Arc::new(revocations))
}

fn is_cached(runs: &RunCache, n: usize) -> bool {
    runs.cached.lock().unwrap().by_run.contains_key(&run_id(n))
}

#[test]
fn a_full_cache_evicts_an_eighth_of_the_runs_the_least_recently_used_first() {
    let ledger = memory();
    let runs = cache(&ledger);
    let slot = |n: usize| runs.slot(&run_id(n), &ledger).unwrap();
    let cached = || runs.cached.lock().unwrap().by_run.len();
    let held = slot(0);
    for n in 1..4_096 {
        slot(n);
    }
    slot(1);
    slot(4_095);
    assert_eq!(cached(), 4_096, "a cached run takes no further entry");
    slot(4_096);
    assert_eq!(cached(), 4_096 - 512 + 1);
    assert!(Arc::ptr_eq(&slot(0), &held), "a run that somebody holds stays");
    assert!(is_cached(&runs, 1), "it was used since");
    assert!((2..514).all(|n| !is_cached(&runs, n)));
    assert!((514..=4_096).all(|n| is_cached(&runs, n)));
}

#[test]
fn runs_with_masks_are_evicted_last() {
    let ledger = memory();
    let runs = cache(&ledger);
    let slot = |n: usize| runs.slot(&run_id(n), &ledger).unwrap();
    let table = Arc::clone(slot(0).masks().table());
    let firewall = weaver_firewall::Firewall::new().with_masks(table, None);
    let shown = firewall.redact_text("write to jane.roe@corp.example.org").text;
    assert!(!shown.contains("jane"), "{shown}");
    for n in 1..3 * 4_096 {
        slot(n);
    }
    assert!(is_cached(&runs, 0) && !is_cached(&runs, 1));
    assert!(!slot(0).masks().table().is_empty());
}

/// A ledger that notes, at each read, whether the locks of the cache were free.
struct LockWatchingLedger<'r> {
    ledger: MemoryLedger,
    runs: OnceLock<&'r RunCache>,
    /// Reads of events, all reads while the cache was locked, and reads of events while the log was.
    reads: Mutex<[usize; 3]>,
}

impl LockWatchingLedger<'_> {
    fn note(&self, is_event: bool) {
        let Some(runs) = self.runs.get() else { return };
        let mut reads = self.reads.lock().unwrap();
        reads[0] += usize::from(is_event);
        reads[1] += usize::from(runs.cached.try_lock().is_err());
        reads[2] += usize::from(is_event && runs.log.try_lock().is_err());
    }
}

impl Ledger for LockWatchingLedger<'_> {
    fn submit(&self, batch: Arc<Batch>) -> CommitTicket {
        self.ledger.submit(batch)
    }

    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        self.note(false);
        self.ledger.read(key)
    }

    fn list(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        self.ledger.list(tenant, namespace, after, limit)
    }

    fn events(&self, from: u64, limit: usize) -> Result<Vec<StoredEvent>, LedgerError> {
        self.note(true);
        self.ledger.events(from, limit)
    }

    fn head(&self) -> Result<TreeHead, LedgerError> {
        self.ledger.head()
    }

    fn synced_head(&self) -> Result<TreeHead, LedgerError> {
        self.ledger.synced_head()
    }
}

#[test]
fn no_other_run_waits_while_the_events_of_a_run_are_read() {
    let ledger = memory();
    let run = run_id(1);
    let state = run_state::state_put(
        &Tenant::default(),
        &run,
        &RunState::default(),
        &mut EncodedLabelCache::default(),
    );
    let event = NewEvent {
        kind: EventKind::RunStarted,
        at: Timestamp::default(),
        run: Some(run.clone()),
        call: None,
        payload: b"{\"run\":{}}".to_vec().into(),
    };
    let batch = Batch { put: state.into_iter().collect(), ..Batch::new(Durability::Os) };
    ledger.commit(batch.with_event(event)).wait().unwrap();
    let runs = cache(&ledger);
    let watched = LockWatchingLedger { ledger, runs: OnceLock::new(), reads: Mutex::default() };
    runs.read_log(&watched).unwrap();
    assert!(watched.runs.set(&runs).is_ok());
    runs.slot(&run, &watched).unwrap();
    let [events, under_cache, under_log] = *watched.reads.lock().unwrap();
    assert_eq!((events, under_cache, under_log), (1, 0, 0));
}
