//! Ends of calls that are committed after their callers have the answer.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use weaver_agent_kernel::Invocation;
use weaver_firewall::SessionBudget;
use weaver_types::ledger::{
    Batch, CommitCompleter, CommitTicket, Ledger, LedgerError, Namespace, Record, RecordKey,
    StoredEvent, TreeHead,
};
use weaver_types::{
    CapabilityDraft, Confidentiality, Effects, EventKind, Integrity, RawResult, ResponseMode,
    RunId, Tenant,
};

use crate::support::{
    Asked, World, ana, draft, fold, kinds, log, memory, open_policy, snapshot, sqlite, succeeded,
};

/// A ledger that keeps batches with an event of this kind until something else comes, like one in a
/// file what nobody waits for, and then takes or refuses them.
pub(crate) struct Deferring {
    inner: Arc<dyn Ledger>,
    waiting: Mutex<Option<(Arc<Batch>, CommitCompleter)>>,
    kind: EventKind,
    refuses: bool,
    /// How many batches it keeps; those that come later are taken at once.
    keeps: Mutex<usize>,
}

impl Deferring {
    fn new(kind: EventKind, refuses: bool) -> Arc<Self> {
        Self::keeping(usize::MAX, kind, refuses)
    }

    pub(crate) fn keeping(batches: usize, kind: EventKind, refuses: bool) -> Arc<Self> {
        let (inner, keeps) = (memory(), Mutex::new(batches));
        Arc::new(Self { inner, waiting: Mutex::new(None), kind, refuses, keeps })
    }

    fn settle(&self) {
        let Some((batch, completer)) = self.waiting.lock().unwrap().take() else { return };
        completer.complete(match self.refuses {
            true => Err(LedgerError::Failed("the disk is full".to_owned())),
            false => self.inner.submit(batch).wait(),
        });
    }

    fn is_waiting(&self) -> bool {
        self.waiting.lock().unwrap().is_some()
    }
}

impl Ledger for Deferring {
    fn submit(&self, batch: Arc<Batch>) -> CommitTicket {
        self.settle();
        let mut keeps = self.keeps.lock().unwrap();
        if *keeps == 0 || batch.events.iter().all(|event| event.kind != self.kind) {
            return self.inner.submit(batch);
        }
        *keeps -= 1;
        let (ticket, completer) = CommitTicket::pair();
        *self.waiting.lock().unwrap() = Some((batch, completer));
        ticket
    }

    crate::support::reads_of_inner! {}
}

/// A reader whose results are restricted.
fn vault() -> CapabilityDraft {
    let mut draft = draft("vault.read", Effects::READ_LOCAL);
    draft.output_label.confidentiality = Confidentiality::Restricted;
    draft
}

fn asked() -> Asked {
    Asked::new("vault.read").with(json!({})).mode(ResponseMode::Auto)
}

/// A call is answered in this many looks; one that waits for its end would never be here.
fn answered(world: &World, run: &weaver_types::RunContext) -> Invocation {
    let done = world.call(run, &ana(), &asked());
    assert!(succeeded(&done), "{done:?}");
    done
}

#[test]
fn a_call_is_answered_before_its_end_is_committed_and_the_next_takes_it_along() {
    let ledger = Deferring::new(EventKind::Outcome, false);
    let world = World::on(Arc::clone(&ledger) as Arc<dyn Ledger>, open_policy());
    world.register(vault());
    let run = world.run();
    for call in 1..=5 {
        answered(&world, &run);
        assert!(ledger.is_waiting());
        assert_eq!(kinds(ledger.as_ref()).last().unwrap(), "call.intent", "call {call}");
    }
    ledger.settle();
    let kinds = kinds(ledger.as_ref());
    let count = |kind: &str| kinds.iter().filter(|found| *found == kind).count();
    assert_eq!((count("call.intent"), count("call.outcome")), (5, 5));
    let state = snapshot(ledger.as_ref(), &run.run_id).unwrap();
    assert_eq!(state, fold(ledger.as_ref(), &run.run_id));
    assert_eq!(state.meters.tool_calls, 5);
}

#[test]
fn an_end_that_is_refused_after_the_answer_is_unknown_and_leaves_the_worst_label() {
    let ledger = Deferring::new(EventKind::Outcome, true);
    let world = World::on(Arc::clone(&ledger) as Arc<dyn Ledger>, open_policy());
    world.register(vault());
    let run = world.run();
    answered(&world, &run);
    // The ledger refuses the first end as the second call comes, and takes its intent.
    answered(&world, &run);
    answered(&world, &run);
    let unknown = log(ledger.as_ref());
    let unknown = unknown.iter().filter(|event| event.kind == "call.outcome_unknown");
    assert!(unknown.count() >= 1, "{:?}", kinds(ledger.as_ref()));
    let state = snapshot(ledger.as_ref(), &run.run_id).unwrap();
    assert_eq!(state, fold(ledger.as_ref(), &run.run_id));
    assert_eq!(state.label.confidentiality, Confidentiality::Restricted);
    assert_eq!(state.label.integrity, Integrity::Untrusted);
}

/// Whether a call waits until its end is committed: on this ledger for ever, so another thread
/// commits it.
fn waits(world: &World, ledger: &Deferring, run: &weaver_types::RunContext, id: &str) -> bool {
    std::thread::scope(|scope| {
        let caller = scope.spawn(|| {
            let asked = Asked::new(id).mode(ResponseMode::Auto);
            world.call(run, &ana(), &asked)
        });
        while !ledger.is_waiting() {
            std::thread::yield_now();
        }
        let end = Instant::now() + Duration::from_secs(1);
        while !caller.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        let waits = !caller.is_finished();
        ledger.settle();
        assert!(succeeded(&caller.join().unwrap()));
        waits
    })
}

#[test]
fn what_a_call_leaves_to_be_asked_for_is_committed_before_its_answer() {
    let ledger = Deferring::new(EventKind::Outcome, false);
    let world = World::on(Arc::clone(&ledger) as Arc<dyn Ledger>, open_policy());
    world.answering(draft("docs.read", Effects::READ_LOCAL), |_| {
        Ok(RawResult::text("a line of a long text\n".repeat(20_000)))
    });
    assert!(waits(&world, &ledger, &world.run(), "docs.read"), "its handle could be lost");
}

#[test]
fn a_mask_is_counted_before_it_is_shown_for_the_first_time() {
    let ledger = Deferring::new(EventKind::Outcome, false);
    let world = World::on(Arc::clone(&ledger) as Arc<dyn Ledger>, open_policy());
    world.answering(draft("mail.read", Effects::READ_LOCAL), |_| {
        Ok(RawResult::text("write to ana.lopez@acme-corp.com"))
    });
    let run = world.run();
    assert!(waits(&world, &ledger, &run, "mail.read"), "its number could come again");
    assert!(!waits(&world, &ledger, &run, "mail.read"), "its table is counted by now");
}

#[test]
fn tokens_that_are_bounded_are_charged_before_the_answer() {
    let ledger = Deferring::new(EventKind::Outcome, false);
    let budget = SessionBudget::from_counter_name("chars4").unwrap().with_total(100_000);
    let world = World::bounded(Arc::clone(&ledger) as Arc<dyn Ledger>, open_policy(), budget);
    world.register(vault());
    assert!(waits(&world, &ledger, &world.run(), "vault.read"), "its charge could be lost");
}

const LEDGER: &str = "WEAVER_TEST_DEFERRED_LEDGER";
const RUN: &str = "run_deferred";

/// What the child does: some calls, and an end without any leave.
#[test]
fn child() {
    let Ok(path) = std::env::var(LEDGER) else { return };
    let world = World::on(sqlite(Path::new(&path)), open_policy());
    world.register(vault());
    let run = world.run().with_run_id(RunId::parse(RUN).unwrap());
    for _ in 0..3 {
        answered(&world, &run);
    }
    std::process::abort();
}

#[test]
fn a_process_that_dies_after_an_answer_leaves_the_call_with_one_end_and_the_run_no_cleaner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["deferred_ends::child", "--exact", "--nocapture"])
        .env(LEDGER, &path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(!status.success());
    let ledger = sqlite(&path);
    let world = World::on(Arc::clone(&ledger) as Arc<dyn Ledger>, open_policy());
    world.register(vault());
    let run = RunId::parse(RUN).unwrap();
    let kinds = kinds(ledger.as_ref());
    let count = |kind: &str| kinds.iter().filter(|found| *found == kind).count();
    assert_eq!(count("call.intent"), 3);
    assert_eq!(count("call.outcome") + count("call.outcome_unknown"), 3, "{kinds:?}");
    assert!(count("call.outcome") >= 2, "each was committed with the next");
    let state = snapshot(ledger.as_ref(), &run).unwrap();
    assert_eq!(state, fold(ledger.as_ref(), &run));
    assert_eq!(state.label.confidentiality, Confidentiality::Restricted);
}
