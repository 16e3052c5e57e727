use serde_json::json;
use weaver_agent_kernel::{MemoryAccess, MemoryOperation, Registry, RunState};
use weaver_policy::{Contracts, Policy, PolicySet};
use weaver_trace_store::prune::{PruneReason, PruningNote};
use weaver_trace_store::{MemoryBlobs, MemoryLedger};
use weaver_types::ledger::{Ledger, MAX_PAGE, Namespace, NewEvent, RecordKey};
use weaver_types::{
    Confidentiality, EventKind, Integrity, Label, ManualClock, OsRandom, PrincipalId, Tenant,
};

use super::*;

const IDLE: Duration = Duration::from_secs(60);

/// A store, and what opens it.
struct World {
    ledger: Arc<MemoryLedger>,
    clock: Arc<ManualClock>,
}

impl World {
    fn new() -> Self {
        let start = Timestamp::from_micros(1_800_000_000_000_000);
        Self {
            ledger: Arc::new(MemoryLedger::with_random_id(Arc::new(OsRandom)).unwrap()),
            clock: Arc::new(ManualClock::new(start)),
        }
    }

    /// The kernel of another start, and the tracker of a client that was there before.
    fn open(&self) -> (Kernel, RunTracker) {
        let policy =
            PolicySet::from_code(Policy::baseline().unwrap(), Contracts::new("none")).unwrap();
        let (ledger, clock) = (Arc::clone(&self.ledger), Arc::clone(&self.clock));
        let kernel = Kernel::builder(Registry::new(), policy)
            .with_store(ledger, Arc::new(MemoryBlobs::with_random_key(&OsRandom).unwrap()))
            .with_clock(Arc::clone(&clock) as Arc<dyn Clock>)
            .open()
            .unwrap();
        let factory = RunFactory {
            settings: RunSettings::default(),
            idle_limit: IDLE,
            clock,
            random: Arc::new(OsRandom),
            opened_at: 0,
        };
        let client = ClientKey::Token("tok_1".to_owned());
        (kernel, RunTracker::new(factory, principal(), client))
    }

    /// A run that has read something untrusted.
    async fn tainted_run(&self) -> RunContext {
        let (kernel, tracker) = self.open();
        let run = tracker.current(&kernel).await.unwrap();
        let label = Label::new(Confidentiality::Internal, Integrity::Untrusted);
        let note = MemoryOperation {
            access: MemoryAccess::Get,
            entry: "mem_1",
            tier: "durable",
            source: "test",
            value: &json!("text"),
            label: &label,
        };
        let principal = principal();
        let caller = Caller { run: &run, principal: &principal };
        kernel.record_memory(caller, note).await.unwrap();
        assert_eq!(self.label(&run), label);
        run
    }

    /// The label in the record of a run.
    fn label(&self, run: &RunContext) -> Label {
        let record = self.ledger.read(&key(run)).unwrap().unwrap();
        serde_json::from_slice::<RunState>(&record.value).unwrap().label
    }

    fn kinds(&self) -> Vec<String> {
        let kind = |header: &[u8]| {
            let header: serde_json::Value = serde_json::from_slice(header).unwrap();
            header["type"].as_str().unwrap().to_owned()
        };
        self.ledger.events(0, MAX_PAGE).unwrap().iter().map(|event| kind(&event.header)).collect()
    }

    /// Takes away what the run has read, with a note that it was pruned.
    fn prune_reads(&self) {
        let reads = self.kinds().iter().position(|kind| kind == "memory.get").unwrap();
        let prune = vec![u64::try_from(reads).unwrap()];
        let note = PruningNote::new(prune.clone(), PruneReason::Age, "somebody").unwrap();
        let event = NewEvent {
            kind: EventKind::Pruned,
            at: self.clock.now(),
            run: None,
            call: None,
            payload: note.to_bytes().unwrap().into(),
        };
        let batch = Batch { prune, ..Batch::new(Durability::Os) };
        self.ledger.commit(batch.with_event(event)).wait().unwrap();
    }

    /// Writes a clean record of a run.
    fn clean_record(&self, run: &RunContext) {
        let value = serde_json::to_vec(&RunState::default()).unwrap();
        let mut batch = Batch::new(Durability::Os);
        batch.put.push(RecordWrite { key: key(run), value, expires_at: None });
        self.ledger.commit(batch).wait().unwrap();
    }
}

fn principal() -> Principal {
    Principal::new(PrincipalId::parse("dev").unwrap())
}

fn key(run: &RunContext) -> RecordKey {
    RecordKey::new(Tenant::default(), Namespace::Run, &run.run_id)
}

fn strictest() -> Label {
    Label::new(Confidentiality::Restricted, Integrity::Untrusted)
}

#[tokio::test]
async fn a_run_whose_payloads_are_gone_gives_way_to_one_with_the_strictest_label() {
    let world = World::new();
    let old = world.tainted_run().await;
    world.prune_reads();
    let (kernel, tracker) = world.open();
    let new = tracker.current(&kernel).await.unwrap();
    assert_ne!(new.run_id, old.run_id);
    assert_eq!(world.label(&new), strictest());
    assert_eq!(world.kinds().iter().filter(|kind| *kind == "run.replaced").count(), 1);
    let notice = tracker.take_notice().unwrap();
    assert!(notice.contains(old.run_id.as_str()) && notice.contains("end-run"), "{notice}");
    assert_eq!(tracker.take_notice(), None);
    // The next start goes on in it.
    let (kernel, tracker) = world.open();
    assert_eq!(tracker.current(&kernel).await.unwrap().run_id, new.run_id);
    assert_eq!(tracker.take_notice(), None);
}

#[tokio::test]
async fn denied_calls_do_not_keep_a_changed_run_alive_and_its_successor_is_not_clean() {
    let world = World::new();
    let old = world.tainted_run().await;
    world.clean_record(&old);
    let (kernel, tracker) = world.open();
    let mut runs = Vec::new();
    for _ in 0..6 {
        world.clock.advance(IDLE / 4);
        runs.push(tracker.current(&kernel).await.unwrap());
    }
    let is_old: Vec<bool> = runs.iter().map(|run| run.run_id == old.run_id).collect();
    assert_eq!(is_old, [true, true, true, true, false, false]);
    assert_eq!(runs[4].run_id, runs[5].run_id);
    assert_eq!(world.label(&runs[4]), strictest());
    assert!(kernel.run_fault(&old.run_id).is_some_and(|fault| !fault.is_incomparable()));
}

#[tokio::test]
async fn a_run_that_was_idle_too_long_is_followed_by_a_clean_one_though_it_was_pruned() {
    let world = World::new();
    let old = world.tainted_run().await;
    world.prune_reads();
    world.clock.advance(2 * IDLE);
    let (kernel, tracker) = world.open();
    let new = tracker.current(&kernel).await.unwrap();
    assert_ne!(new.run_id, old.run_id);
    assert_eq!(tracker.take_notice(), None);
    assert!(!world.kinds().contains(&"run.replaced".to_owned()));
}
