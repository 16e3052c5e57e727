//! Retention: what the rules name goes, step by step, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use weaver_trace_store::MemoryLedger;
use weaver_trace_store::prune::{PruneReason, PruningNote, RunRestatement};
use weaver_trace_store::retention::{
    MIN_AGE, MinimumRetention, Retention, RetentionError, RetentionRule, RetentionSweep, SweepStep,
    SweepTally,
};
use weaver_trace_store::verify::{LogSource, verify};
use weaver_types::ledger::{
    Batch, CommitTicket, Durability, Ledger, LedgerError, Namespace, NewEvent, Record, RecordKey,
    RecordWrite, StoredEvent, TreeHead,
};
use weaver_types::{CallId, EventKind, PrincipalId, RunId, Tenant, Timestamp};

use crate::support::{memory, open};

const DAY: Duration = Duration::from_secs(86_400);

fn at(days: u64) -> Timestamp {
    Timestamp::from_micros(i64::try_from(days * 86_400_000_000).unwrap())
}

fn said(days: u64, kind: EventKind, payload: &str) -> Batch {
    let payload = payload.as_bytes().to_vec();
    let event = NewEvent { kind, at: at(days), run: None, call: None, payload: payload.into() };
    Batch::new(Durability::Os).with_event(event)
}

fn append(ledger: &dyn Ledger, batch: Batch) {
    ledger.commit(batch).wait().unwrap();
}

/// Runs a sweep to its end.
fn sweep(ledger: &dyn Ledger, retention: &Retention, days: u64) -> (SweepTally, Vec<SweepStep>) {
    let mut sweep = RetentionSweep::resume(ledger, retention.clone(), "test", at(days)).unwrap();
    let (mut tally, mut steps) = (SweepTally::default(), Vec::new());
    while let Some(step) = sweep.step(ledger, &[Tenant::default()]).unwrap() {
        let step = sweep.commit(ledger, step).unwrap();
        tally.add(&step);
        steps.push(step);
    }
    (tally, steps)
}

fn pruned(ledger: &dyn Ledger) -> Vec<u64> {
    let mut out = Vec::new();
    for from in (0..ledger.head().unwrap().size).step_by(1_000) {
        let page = ledger.events(from, 1_000).unwrap();
        out.extend(page.iter().filter(|e| e.payload.is_none()).map(|e| e.seq));
    }
    out
}

fn by_age(days: u32) -> Retention {
    Retention::new(vec![RetentionRule::older_than(days * DAY)], MIN_AGE).unwrap()
}

#[test]
fn each_rule_prunes_what_it_names() {
    let ledger = memory();
    for (day, kind, payload) in [
        (0, EventKind::Outcome, r#"{"principal":"ann","tags":["PII","x"]}"#),
        (1, EventKind::Outcome, r#"{"principal":"bob","tags":["x"]}"#),
        (2, EventKind::Routed, r#"{"principal":"ann"}"#),
        (3, EventKind::PolicyLoaded, r#"{"principal":"ann","tags":["PII"]}"#),
        (4, EventKind::Refused, r#"{"principal":"ann2","tags":"PII"}"#),
        (5, EventKind::Intent, "[]"),
    ] {
        append(&ledger, said(day, kind, payload));
    }
    let rule = |rule: RetentionRule| Retention::new(vec![rule], MIN_AGE).unwrap();
    let principal = Some(PrincipalId::parse("ann").unwrap());
    let tag = Some("PII".to_owned());
    for (retention, reason, seqs) in [
        (
            rule(RetentionRule { principal, ..RetentionRule::older_than(DAY) }),
            PruneReason::Principal,
            vec![0, 2],
        ),
        (rule(RetentionRule { tag, ..RetentionRule::older_than(DAY) }), PruneReason::Tag, vec![]),
        (
            rule(RetentionRule {
                kinds: vec![EventKind::Refused],
                ..RetentionRule::older_than(DAY)
            }),
            PruneReason::Kind,
            vec![4],
        ),
        (by_age(6), PruneReason::Age, vec![1]),
        (by_age(4), PruneReason::Age, vec![]),
        (by_age(2), PruneReason::Age, vec![5]),
    ] {
        let (tally, _) = sweep(&ledger, &retention, 7);
        let want: BTreeMap<_, _> = [(reason, seqs.len() as u64)].into();
        assert_eq!(tally.pruned, if seqs.is_empty() { BTreeMap::new() } else { want });
        for seq in &seqs {
            assert!(pruned(&ledger).contains(seq), "{seq} of {reason:?}");
        }
    }
    assert_eq!(pruned(&ledger), [0, 1, 2, 4, 5]);
    assert_eq!(verify(&ledger, None).unwrap().pruned, 5);
    let notes = ledger.events(6, 10).unwrap();
    let note = PruningNote::parse(notes[0].payload.as_ref().unwrap()).unwrap();
    assert_eq!((note.ranges(), note.by()), (&[(0, 0), (2, 2)][..], "test"));
    assert_eq!(note.reason(), PruneReason::Principal);
}

#[test]
fn a_tag_rule_finds_tags_and_kinds_can_be_kept() {
    let ledger = memory();
    append(&ledger, said(0, EventKind::Intent, r#"{"tags":["PCI","PII"]}"#));
    append(&ledger, said(0, EventKind::Outcome, r#"{"tags":["PII"]}"#));
    append(&ledger, said(0, EventKind::Refused, r#"{"tags":["PII"]}"#));
    append(&ledger, said(0, EventKind::Routed, r#"{"tags":["PCI"]}"#));
    let rule = RetentionRule { tag: Some("PII".to_owned()), ..RetentionRule::older_than(DAY) };
    let retention = Retention::new(vec![rule], MIN_AGE)
        .unwrap()
        .keeping(EventKind::Intent, MinimumRetention::AtLeast(10 * DAY))
        .keeping(EventKind::Outcome, MinimumRetention::Forever);
    sweep(&ledger, &retention, 5);
    assert_eq!(pruned(&ledger), [2]);
    // The intent was too young, so the sweep comes back to it.
    let (tally, _) = sweep(&ledger, &retention, 10);
    assert_eq!((pruned(&ledger), tally.total()), (vec![0, 2], 1));
}

/// The events of a run: what each says, and whether it ends the run.
fn run_event(run: &str, kind: EventKind, payload: serde_json::Value) -> Batch {
    let mut batch = said(0, kind, &payload.to_string());
    batch.events[0].run = Some(RunId::parse(run).unwrap());
    batch
}

/// What the log restates: the run, and its changes.
fn restated(ledger: &dyn Ledger) -> Vec<(String, serde_json::Value)> {
    let events = ledger.events(0, 1_000).unwrap();
    let header = |event: &StoredEvent| -> serde_json::Value {
        serde_json::from_slice(&event.header).unwrap()
    };
    let events = events.iter().filter(|event| header(event)["type"] == "run.restated");
    events
        .map(|event| {
            let payload = event.payload.as_ref().unwrap();
            let changes = RunRestatement::parse(payload).unwrap().into_changes();
            (header(event)["run"].as_str().unwrap().to_owned(), json!(changes))
        })
        .collect()
}

#[test]
fn what_is_pruned_of_a_run_that_goes_on_is_restated() {
    let ledger = memory();
    let one = json!({ "run": { "denials": 1 }, "principal": "ann" });
    append(&ledger, run_event("run_1", EventKind::RunStarted, json!({ "run": "text" })));
    append(&ledger, run_event("run_1", EventKind::Refused, one.clone()));
    append(&ledger, run_event("run_2", EventKind::Refused, one.clone()));
    append(&ledger, run_event("run_2", EventKind::RunFinished, one.clone()));
    append(&ledger, run_event("run_3", EventKind::RunFinished, one.clone()));
    append(&ledger, run_event("run_3", EventKind::Refused, one));
    let (_, steps) = sweep(&ledger, &by_age(1), 2);
    assert_eq!(steps[0].pruned().len(), 6);
    let change = json!({ "denials": 1 });
    assert_eq!(
        restated(&ledger),
        [
            ("run_1".to_owned(), json!({ "0": null, "1": change })),
            ("run_3".to_owned(), json!({ "4": change, "5": change })),
        ],
        "run_2 is over, and run_3 went on"
    );
    // It stays, and is not restated itself.
    assert_eq!(sweep(&ledger, &by_age(1), 9).0.total(), 0);
    assert_eq!(restated(&ledger).len(), 2);
    assert_eq!(verify(&ledger, None).unwrap().pruned, 6);
}

/// A step must fit into one batch, with a restatement for each run.
#[test]
fn many_runs_are_pruned_in_several_steps() {
    let ledger = memory();
    for n in 0..1_500 {
        let payload = json!({ "run": { "denials": 1 } });
        append(&ledger, run_event(&format!("run_{n:04}"), EventKind::Refused, payload));
    }
    let (tally, steps) = sweep(&ledger, &by_age(1), 2);
    assert_eq!((tally.total(), steps.len()), (1_500, 3));
    let mut restatements = 0;
    for from in (0..ledger.head().unwrap().size).step_by(1_000) {
        let page = ledger.events(from, 1_000).unwrap();
        restatements += page
            .iter()
            .filter(|event| String::from_utf8_lossy(&event.header).contains("run.restated"))
            .count();
    }
    assert_eq!(restatements, 1_500);
}

#[test]
fn any_rule_suffices_and_their_order_has_no_meaning() {
    let tagged =
        RetentionRule { tag: Some("PII".to_owned()), ..RetentionRule::older_than(9 * DAY) };
    let [every, tagged] = [RetentionRule::older_than(3 * DAY), tagged];
    for rules in [vec![every.clone(), tagged.clone()], vec![tagged, every]] {
        let ledger = memory();
        append(&ledger, said(0, EventKind::Intent, r#"{"tags":["PII"]}"#));
        append(&ledger, said(0, EventKind::Outcome, "{}"));
        let retention = Retention::new(rules, MIN_AGE).unwrap();
        sweep(&ledger, &retention, 2);
        assert_eq!(pruned(&ledger), [0_u64; 0]);
        sweep(&ledger, &retention, 3);
        assert_eq!(pruned(&ledger), [0, 1], "the rule of nine days keeps nothing");
    }
}

#[test]
fn a_rule_below_the_least_age_is_no_rule() {
    let rules = vec![RetentionRule::older_than(2 * DAY), RetentionRule::older_than(DAY / 2)];
    let error = Retention::new(rules, MIN_AGE).unwrap_err();
    assert!(matches!(error, RetentionError::TooYoung { rule: 1, .. }), "{error}");
    assert_eq!(error.code(), "retention.too_young");
    assert!(Retention::new(vec![RetentionRule::default(); 1_001], Duration::ZERO).is_err());
    let none = Retention::new(Vec::new(), MIN_AGE).unwrap();
    let ledger = memory();
    append(&ledger, said(0, EventKind::Intent, "{}"));
    assert_eq!(sweep(&ledger, &none, 1_000).0, SweepTally::default());
    assert!(RetentionSweep::resume(&ledger, none, "", at(1)).is_err());
}

#[test]
fn a_dry_run_says_the_same_and_changes_nothing() {
    let ledger = memory();
    for n in 0..3_000 {
        append(&ledger, said(n / 100, EventKind::Outcome, r#"{"n":1}"#));
    }
    let before = ledger.head().unwrap();
    let mut dry = RetentionSweep::resume(&ledger, by_age(10), "test", at(30)).unwrap();
    let mut would = SweepTally::default();
    while let Some(step) = dry.step(&ledger, &[Tenant::default()]).unwrap() {
        would.add(&step);
    }
    assert_eq!((ledger.head().unwrap(), pruned(&ledger)), (before, vec![]));
    let (did, _) = sweep(&ledger, &by_age(10), 30);
    assert_eq!((would.total(), &would), (2_100, &did));
    assert_eq!(pruned(&ledger), (0..2_100).collect::<Vec<_>>());
}

#[test]
fn a_step_left_out_is_not_passed_over() {
    let ledger = memory();
    for _ in 0..3_000 {
        append(&ledger, said(0, EventKind::Outcome, "{}"));
    }
    let mut first = RetentionSweep::resume(&ledger, by_age(1), "test", at(2)).unwrap();
    let _left_out = first.step(&ledger, &[]).unwrap().unwrap();
    let second = first.step(&ledger, &[]).unwrap().unwrap();
    first.commit(&ledger, second).unwrap();
    assert_eq!(pruned(&ledger).len(), 1_024);
    sweep(&ledger, &by_age(1), 2);
    assert_eq!(pruned(&ledger).len(), 3_000);
}

#[test]
fn what_is_open_stays_and_goes_later_also_of_another_tenant() {
    let ledger = memory();
    for id in ["call_1", "call_2", "call_3"] {
        let mut batch = said(0, EventKind::Intent, "{}");
        batch.events[0].call = CallId::parse(id).ok();
        append(&ledger, batch);
    }
    append(&ledger, said(0, EventKind::Intent, "{}"));
    let key = |tenant: &str, id: &str| {
        RecordKey::new(Tenant::parse(tenant).unwrap(), Namespace::OpenCall, id)
    };
    let open = [key("local", "call_1"), key("elsewhere", "call_2")];
    for key in &open {
        let batch = Batch::new(Durability::Os).create(key.clone(), b"{}".to_vec(), None);
        append(&ledger, batch);
    }
    let (tally, steps) = sweep(&ledger, &by_age(1), 5);
    assert_eq!((pruned(&ledger), tally.kept, tally.total()), (vec![2, 3], 2, 2));
    assert!(steps[0].kept()[&1].contains("call.open/call_2"), "{:?}", steps[0].kept());
    append(&ledger, Batch { delete: open.to_vec(), ..Batch::new(Durability::Os) });
    sweep(&ledger, &by_age(1), 5);
    assert_eq!(pruned(&ledger), [0, 1, 2, 3]);
}

/// Counts how many events are read, and refuses commits after some.
struct Counting<'l> {
    inner: &'l MemoryLedger,
    read: AtomicU64,
    commits: AtomicU64,
}

impl Ledger for Counting<'_> {
    fn submit(&self, batch: Arc<Batch>) -> CommitTicket {
        let left =
            self.commits.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        match left {
            Ok(_) => self.inner.submit(batch),
            Err(_) => CommitTicket::ready(Err(LedgerError::Failed("the disk is full".to_owned()))),
        }
    }
    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        self.inner.read(key)
    }
    fn list(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        self.inner.list(tenant, namespace, after, limit)
    }
    fn events(&self, from: u64, limit: usize) -> Result<Vec<StoredEvent>, LedgerError> {
        let page = self.inner.events(from, limit)?;
        self.read.fetch_add(page.len() as u64, Ordering::SeqCst);
        assert!(page.len() <= 64, "a page of {}", page.len());
        Ok(page)
    }
    fn head(&self) -> Result<TreeHead, LedgerError> {
        self.inner.head()
    }
    fn synced_head(&self) -> Result<TreeHead, LedgerError> {
        self.inner.synced_head()
    }
}

#[test]
fn a_sweep_that_breaks_off_goes_on_where_it_was_and_no_event_is_read_again() {
    let inner = memory();
    for n in 0..20_000_u64 {
        append(&inner, said(n / 1_000, EventKind::Outcome, "{}"));
    }
    let read = AtomicU64::new(0);
    let mut broke_off = 0;
    for _ in 0..100 {
        let ledger =
            Counting { inner: &inner, read: AtomicU64::new(0), commits: AtomicU64::new(2) };
        let mut sweep = RetentionSweep::resume(&ledger, by_age(5), "test", at(20)).unwrap();
        let done = loop {
            let Some(step) = sweep.step(&ledger, &[]).unwrap() else { break true };
            if sweep.commit(&ledger, step).is_err() {
                break false;
            }
        };
        read.fetch_add(ledger.read.load(Ordering::SeqCst), Ordering::SeqCst);
        broke_off += u64::from(!done);
        if done {
            break;
        }
    }
    assert!(broke_off >= 5, "{broke_off}");
    assert_eq!(pruned(&inner), (0..16_000).collect::<Vec<_>>());
    // Each attempt reads again only the one step that was not committed.
    let read = read.load(Ordering::SeqCst);
    assert!(read <= 16_000 + (broke_off + 1) * 1_100, "{read} events were read");
    // A later sweep with nothing to do reads a page, not the log.
    let ledger = Counting { inner: &inner, read: AtomicU64::new(0), commits: AtomicU64::new(2) };
    sweep(&ledger, &by_age(5), 20);
    assert!(ledger.read.load(Ordering::SeqCst) <= 64);
}

/// The stored form, as it is.
#[test]
fn the_position_of_a_sweep_has_its_form_and_a_newer_one_is_refused() {
    let ledger = memory();
    for _ in 0..5 {
        append(&ledger, said(0, EventKind::Outcome, "{}"));
    }
    sweep(&ledger, &by_age(1), 2);
    let positions = ledger.list(&Tenant::default(), Namespace::Retention, None, 10).unwrap();
    let [(id, record)] = positions.as_slice() else { panic!("{positions:?}") };
    assert_eq!(id, "3a0990d3c177646f32d404c6de27677c7ac7fcff360d63fd8401eeb452194cfa");
    assert_eq!(record.value, br#"{"next":5,"v":1}"#);
    let key = RecordKey::new(Tenant::default(), Namespace::Retention, id.as_str());
    let refused = |value: &[u8]| {
        let put = RecordWrite { key: key.clone(), value: value.to_vec(), expires_at: None };
        append(&ledger, Batch { put: vec![put], ..Batch::new(Durability::Os) });
        RetentionSweep::resume(&ledger, by_age(1), "test", at(2)).unwrap_err().code()
    };
    assert_eq!(refused(br#"{"next":5,"v":2}"#), "ledger.newer");
    assert_eq!(refused(b"5"), "ledger.damaged");
}

#[test]
fn a_sweep_works_on_the_file_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    for n in 0..50 {
        append(&ledger, said(n, EventKind::Outcome, r#"{"principal":"ann"}"#));
    }
    let head = ledger.head().unwrap();
    let (tally, _) = sweep(&ledger, &by_age(20), 49);
    assert_eq!((tally.total(), tally.bytes), (30, 30 * 19));
    let report = verify(&ledger, Some(&head)).unwrap();
    assert_eq!((report.pruned, report.head.size), (30, 51));
}

/// Pruning takes payloads by their place and leaves every header, and no time in the log goes back: so
/// times in any order break nothing.
#[test]
fn times_that_go_back_break_no_log_that_is_pruned() {
    fn holds(ledger: &(impl Ledger + LogSource)) {
        for days in [3, 1, 9, 2, 40, 5, 41, 0] {
            append(ledger, said(days, EventKind::Outcome, r#"{"principal":"ann"}"#));
        }
        let head = ledger.head().unwrap();
        let (tally, _) = sweep(ledger, &by_age(20), 45);
        // What was said after the day 40 is no older than that, whatever it says.
        assert_eq!((tally.total(), pruned(ledger)), (4, vec![0, 1, 2, 3]));
        let report = verify(ledger, Some(&head)).unwrap();
        assert_eq!((report.pruned, report.head.size), (4, 9));
    }
    holds(&memory());
    let folder = tempfile::tempdir().unwrap();
    holds(&open(&folder.path().join("ledger.db")));
}

fn a_rule() -> impl Strategy<Value = RetentionRule> {
    let name = prop_oneof![Just(None), Just(Some("a")), Just(Some("b"))];
    let kinds = prop_oneof![
        Just(vec![]),
        Just(vec![EventKind::Intent]),
        Just(vec![EventKind::Outcome, EventKind::PolicyLoaded])
    ];
    (1_u32..30, name.clone(), name, kinds).prop_map(|(days, principal, tag, kinds)| RetentionRule {
        older_than: days * DAY,
        principal: principal.map(|name| PrincipalId::parse(name).unwrap()),
        tag: tag.map(str::to_owned),
        kinds,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Against a naive reading of the rules, over several sweeps as time goes on.
    #[test]
    fn sweeps_do_what_a_naive_reading_of_the_rules_does(
        rules in proptest::collection::vec(a_rule(), 0..4),
        keep in proptest::option::of(1_u32..40),
        events in proptest::collection::vec(
            (0_u64..3, 0_usize..3, prop_oneof![Just("a"), Just("b"), Just("c")], any::<bool>()),
            0..60,
        ),
        sweeps in proptest::collection::vec(0_u64..40, 1..4),
    ) {
        let kinds = [EventKind::Intent, EventKind::Outcome, EventKind::PolicyLoaded];
        let mut retention = Retention::new(rules.clone(), MIN_AGE).unwrap();
        if let Some(days) = keep {
            retention = retention.keeping(EventKind::Outcome, MinimumRetention::AtLeast(days * DAY));
        }
        let ledger = memory();
        let (mut day, mut all) = (0, Vec::new());
        for (later, kind, name, tagged) in events {
            day += later;
            let tags = if tagged { format!(r#","tags":["{name}"]"#) } else { String::new() };
            let payload = format!(r#"{{"principal":"{name}"{tags}}}"#);
            append(&ledger, said(day, kinds[kind], &payload));
            all.push((day, kinds[kind], name, tagged));
        }
        let mut now = day;
        let mut gone: Vec<u64> = Vec::new();
        for later in sweeps {
            now += later;
            sweep(&ledger, &retention, now);
            gone.extend(all.iter().enumerate().filter(|(_, (day, kind, name, tagged))| {
                let old = |days: u32| now - day >= u64::from(days);
                let kept = match kind {
                    EventKind::PolicyLoaded => true,
                    EventKind::Outcome => keep.is_some_and(|days| !old(days)),
                    _ => false,
                };
                !kept && old(1) && rules.iter().any(|rule| {
                    old(rule.older_than.as_secs().div_euclid(86_400) as u32)
                        && (rule.kinds.is_empty() || rule.kinds.contains(kind))
                        && rule.principal.as_ref().is_none_or(|id| id.as_str() == *name)
                        && rule.tag.as_ref().is_none_or(|tag| *tagged && tag == name)
                })
            }).map(|(seq, _)| seq as u64));
            gone.sort_unstable();
            gone.dedup();
            prop_assert_eq!(pruned(&ledger), gone.clone());
        }
        prop_assert_eq!(verify(&ledger, None).unwrap().pruned, gone.len() as u64);
    }
}
