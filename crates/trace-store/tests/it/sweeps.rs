//! The steps of a sweep: how much each looks at, where it stands, and what it leaves for later.

use std::time::Duration;

use serde_json::json;
use weaver_trace_store::prune::PruneReason;
use weaver_trace_store::retention::{
    MIN_AGE, MinimumRetention, Retention, RetentionError, RetentionRule, RetentionSweep, SweepTally,
};
use weaver_types::ledger::{
    Batch, Durability, Ledger, MAX_PAYLOAD, Namespace, NewEvent, RecordKey, RecordWrite,
};
use weaver_types::{EventKind, PrincipalId, Tenant, Timestamp};

use crate::support::{ledger_of, memory, told};

const DAY: Duration = Duration::from_secs(86_400);

fn at(days: i64) -> i64 {
    days * 86_400_000_000
}

fn event(days: i64, payload: &serde_json::Value) -> NewEvent {
    told(EventKind::Outcome, at(days), ("", ""), payload)
}

fn by_age(days: u32) -> Retention {
    Retention::new(vec![RetentionRule::older_than(days * DAY)], MIN_AGE).unwrap()
}

fn begin(ledger: &dyn Ledger, retention: &Retention, days: i64) -> RetentionSweep {
    RetentionSweep::resume(ledger, retention.clone(), "test", Timestamp::from_micros(at(days)))
        .unwrap()
}

/// What each step looks at, without a commit: examined, pruned, next, and the progress after it.
fn steps(
    ledger: &dyn Ledger,
    retention: &Retention,
    days: i64,
) -> Vec<(u64, usize, u64, (u64, u64))> {
    let mut sweep = begin(ledger, retention, days);
    let mut steps = Vec::new();
    while let Some(step) = sweep.step(ledger, &[]).unwrap() {
        steps.push((step.examined(), step.pruned().len(), step.next(), sweep.progress()));
    }
    steps
}

#[test]
fn a_step_prunes_no_more_than_one_batch_may() {
    let ledger = ledger_of(&vec![event(0, &json!({})); 2_100]);
    let sweep = begin(&ledger, &by_age(1), 5);
    assert_eq!(sweep.progress(), (0, 2_100));
    assert_eq!(
        steps(&ledger, &by_age(1), 5),
        [
            (1_024, 1_024, 1_024, (1_024, 2_100)),
            (1_024, 1_024, 2_048, (2_048, 2_100)),
            (52, 52, 2_100, (2_100, 2_100)),
        ]
    );
}

#[test]
fn a_step_looks_at_no_more_than_some_thousand_events() {
    let ledger = ledger_of(&vec![event(0, &json!({})); 8_300]);
    let principal = Some(PrincipalId::parse("nobody").unwrap());
    let rule = RetentionRule { principal, ..RetentionRule::older_than(DAY) };
    let retention = Retention::new(vec![rule], MIN_AGE).unwrap();
    assert_eq!(
        steps(&ledger, &retention, 5),
        [(8_192, 0, 8_192, (8_192, 8_300)), (108, 0, 8_300, (8_300, 8_300))]
    );
}

#[test]
fn a_step_removes_no_more_than_some_bytes() {
    let large = event(0, &json!("x".repeat(MAX_PAYLOAD - 2)));
    let ledger = memory();
    for _ in 0..70 {
        ledger.commit(Batch::new(Durability::Os).with_event(large.clone())).wait().unwrap();
    }
    let mut sweep = begin(&ledger, &by_age(1), 5);
    let step = sweep.step(&ledger, &[]).unwrap().unwrap();
    assert_eq!((step.examined(), step.bytes()), (64, 64 * MAX_PAYLOAD as u64));
    let step = sweep.step(&ledger, &[]).unwrap().unwrap();
    assert_eq!((step.examined(), step.bytes()), (6, 6 * MAX_PAYLOAD as u64));
    assert_eq!(sweep.step(&ledger, &[]), Ok(None));
}

#[test]
fn what_is_as_old_as_a_rule_says_goes_and_what_is_younger_ends_the_sweep() {
    let days = [0, 0, 1, 2, 2, 3].map(|day| event(day, &json!({})));
    let ledger = ledger_of(&days);
    for (now, wanted) in [
        (1, vec![]),
        (2, vec![(2, 2, 2, (2, 2))]),
        (3, vec![(3, 3, 3, (3, 3))]),
        (4, vec![(5, 5, 5, (5, 5))]),
        (5, vec![(6, 6, 6, (6, 6))]),
    ] {
        assert_eq!(steps(&ledger, &by_age(2), now), wanted, "on day {now}");
    }
    // Where the least age is above that of every rule, it counts.
    let mut sweep = begin(&ledger, &by_age(2), 2);
    let step = sweep.step(&ledger, &[]).unwrap().unwrap();
    let reasons: Vec<_> = step.pruned().iter().map(|(seq, reason)| (*seq, *reason)).collect();
    assert_eq!(reasons, [(0, PruneReason::Age), (1, PruneReason::Age)]);
    assert!(step.kept().is_empty());
}

#[test]
fn what_is_too_young_for_its_kind_is_looked_at_again() {
    let refused = || told(EventKind::Refused, at(0), ("", ""), &json!({}));
    let other = || event(0, &json!({}));
    let ledger = ledger_of(&[other(), refused(), other(), refused(), other()]);
    let retention = by_age(1).keeping(EventKind::Refused, MinimumRetention::AtLeast(10 * DAY));
    let mut sweep = begin(&ledger, &retention, 2);
    let step = sweep.step(&ledger, &[]).unwrap().unwrap();
    assert_eq!(step.pruned().keys().copied().collect::<Vec<_>>(), [0, 2, 4]);
    sweep.commit(&ledger, step).unwrap();
    assert_eq!(steps(&ledger, &retention, 2), [], "nothing is due, and nothing is read again");
    let mut sweep = begin(&ledger, &retention, 10);
    let step = sweep.step(&ledger, &[]).unwrap().unwrap();
    assert_eq!(step.pruned().keys().copied().collect::<Vec<_>>(), [1, 3]);
    sweep.commit(&ledger, step).unwrap();
    let forever = by_age(1).keeping(EventKind::Refused, MinimumRetention::Forever);
    let mut sweep = begin(&ledger, &forever, 2);
    while let Some(step) = sweep.step(&ledger, &[]).unwrap() {
        sweep.commit(&ledger, step).unwrap();
    }
    assert_eq!(begin(&ledger, &forever, 2).progress(), (5, 7));
}

#[test]
fn each_event_is_examined_once_for_each_age_of_the_rules() {
    let events = (0..200).map(|day| match day % 2 {
        0 => event(day, &json!({ "tags": ["PII"] })),
        _ => event(day, &json!({})),
    });
    let ledger = ledger_of(&events.collect::<Vec<_>>());
    let rules = vec![
        RetentionRule { tag: Some("PII".to_owned()), ..RetentionRule::older_than(30 * DAY) },
        RetentionRule::older_than(365 * DAY),
    ];
    let retention = Retention::new(rules, MIN_AGE).unwrap();
    let sweep = |now| {
        let mut tally = SweepTally::default();
        let mut sweep = begin(&ledger, &retention, now);
        while let Some(step) = sweep.step(&ledger, &[]).unwrap() {
            tally.add(&sweep.commit(&ledger, step).unwrap());
        }
        (tally.examined, tally.total())
    };
    assert_eq!(sweep(150), (121, 61));
    assert_eq!(sweep(150), (0, 0), "what waits for a year is not read again");
    assert_eq!(sweep(151), (1, 0));
    // Six events are a year old now; 78 events and the note of the first sweep are new for the
    // other rule.
    assert_eq!(sweep(370), (6 + 79, 3 + 39));
    assert_eq!(sweep(370), (0, 0));
}

#[test]
fn what_is_open_is_told_beforehand_for_the_tenants_that_are_named() {
    let long = |count: usize| "r".repeat(count);
    let held = |id: &str| event(0, &json!({"request": id}));
    let ledger = ledger_of(&[held(&long(512)), held(&long(513)), held("free")]);
    let tenant = Tenant::parse("other").unwrap();
    let key = RecordKey::new(tenant.clone(), Namespace::Hold, long(512));
    let put = RecordWrite { key, value: b"{}".to_vec(), expires_at: None };
    ledger.commit(Batch { put: vec![put], ..Batch::new(Durability::Os) }).wait().unwrap();
    for (tenants, kept, pruned) in [
        (vec![Tenant::default(), tenant], vec![0], vec![1, 2]),
        (vec![Tenant::default()], vec![], vec![0, 1, 2]),
    ] {
        let mut sweep = begin(&ledger, &by_age(1), 5);
        let step = sweep.step(&ledger, &tenants).unwrap().unwrap();
        assert_eq!(step.kept().keys().copied().collect::<Vec<_>>(), kept);
        assert_eq!(step.pruned().keys().copied().collect::<Vec<_>>(), pruned);
        let why = format!("the record other/approval.hold/{} stands", long(512));
        assert!(step.kept().values().all(|said| *said == why), "{:?}", step.kept());
        let mut tally = SweepTally::default();
        tally.add(&step);
        tally.add(&step);
        assert_eq!((tally.kept, tally.examined), (2 * kept.len() as u64, 6));
        assert_eq!((tally.total(), tally.bytes), (2 * pruned.len() as u64, 2 * step.bytes()));
    }
}

#[test]
fn each_reason_has_its_note_and_what_is_gone_is_passed_over() {
    let ledger = ledger_of(&[
        event(0, &json!({"principal": "ann"})),
        event(0, &json!({"tags": ["PII"]})),
        event(0, &json!({})),
        event(0, &json!({"principal": "ann"})),
    ]);
    let rules = vec![
        RetentionRule {
            principal: PrincipalId::parse("ann").ok(),
            ..RetentionRule::older_than(DAY)
        },
        RetentionRule { tag: Some("PII".to_owned()), ..RetentionRule::older_than(DAY) },
        RetentionRule { kinds: vec![EventKind::Outcome], ..RetentionRule::older_than(DAY) },
    ];
    let retention = Retention::new(rules, MIN_AGE).unwrap();
    let mut sweep = begin(&ledger, &retention, 5);
    let step = sweep.step(&ledger, &[]).unwrap().unwrap();
    let reasons: Vec<PruneReason> = step.pruned().values().copied().collect();
    assert_eq!(
        reasons,
        [PruneReason::Principal, PruneReason::Tag, PruneReason::Kind, PruneReason::Principal]
    );
    sweep.commit(&ledger, step).unwrap();
    assert_eq!(ledger.head().unwrap().size, 4 + 3, "a note for each reason");
    let other = by_age(1);
    let mut sweep = begin(&ledger, &other, 5);
    let step = sweep.step(&ledger, &[]).unwrap().unwrap();
    assert_eq!((step.examined(), step.pruned().len()), (4, 0));
}

#[test]
fn another_retention_begins_anew() {
    let ledger = ledger_of(&[event(0, &json!({}))]);
    let rule = |rule: RetentionRule| Retention::new(vec![rule], MIN_AGE).unwrap();
    let age = || RetentionRule::older_than(2 * DAY);
    let retentions = [
        rule(age()),
        rule(RetentionRule::older_than(3 * DAY)),
        rule(RetentionRule { principal: PrincipalId::parse("ann").ok(), ..age() }),
        rule(RetentionRule { tag: Some("ann".to_owned()), ..age() }),
        rule(RetentionRule { kinds: vec![EventKind::Late], ..age() }),
        rule(RetentionRule { kinds: vec![EventKind::Outcome], ..age() }),
        rule(age()).keeping(EventKind::Late, MinimumRetention::Forever),
        rule(age()).keeping(EventKind::Late, MinimumRetention::AtLeast(DAY)),
        rule(age()).keeping(EventKind::Refused, MinimumRetention::AtLeast(DAY)),
        Retention::new(vec![age()], 2 * DAY).unwrap(),
        Retention::new(vec![age(), age()], MIN_AGE).unwrap(),
    ];
    for retention in &retentions {
        let mut sweep = begin(&ledger, retention, 9);
        let step = sweep.step(&ledger, &[]).unwrap().unwrap();
        sweep.commit(&ledger, step).unwrap();
    }
    let found = ledger.list(&Tenant::default(), Namespace::Retention, None, 100).unwrap();
    assert_eq!(found.len(), retentions.len());
}

#[test]
fn a_position_that_is_none_is_named() {
    let ledger = ledger_of(&[event(0, &json!({}))]);
    let retention = by_age(1);
    let mut sweep = begin(&ledger, &retention, 5);
    let step = sweep.step(&ledger, &[]).unwrap().unwrap();
    sweep.commit(&ledger, step).unwrap();
    let found = ledger.list(&Tenant::default(), Namespace::Retention, None, 1).unwrap();
    let key = RecordKey::new(Tenant::default(), Namespace::Retention, found[0].0.as_str());
    for (value, code) in [
        (r#"{"next":1,"v":1}"#, None),
        (r#"{"next":1,"v":0}"#, Some("ledger.damaged")),
        (r#"{"next":1,"v":2}"#, Some("ledger.newer")),
        (r#"{"next":1}"#, Some("ledger.damaged")),
        (r#"{"v":1}"#, Some("ledger.damaged")),
        (r#"{"next":-1,"v":1}"#, Some("ledger.damaged")),
        ("{", Some("ledger.damaged")),
    ] {
        let put =
            RecordWrite { key: key.clone(), value: value.as_bytes().to_vec(), expires_at: None };
        ledger.commit(Batch { put: vec![put], ..Batch::new(Durability::Os) }).wait().unwrap();
        let now = Timestamp::from_micros(at(5));
        let resumed = RetentionSweep::resume(&ledger, retention.clone(), "test", now);
        assert_eq!(resumed.err().map(|error| error.code()), code, "{value}");
    }
}

#[test]
fn rules_have_a_least_age_and_a_most() {
    let rules = |count: usize| vec![RetentionRule::older_than(MIN_AGE); count];
    assert_eq!(Retention::new(rules(1_000), MIN_AGE).unwrap().rules().len(), 1_000);
    let error = Retention::new(rules(1_001), MIN_AGE).unwrap_err();
    assert_eq!(error, RetentionError::TooMany { found: 1_001, most: 1_000 });
    let young = vec![
        RetentionRule::older_than(MIN_AGE),
        RetentionRule::older_than(Duration::from_secs(86_399)),
    ];
    let error = Retention::new(young, MIN_AGE).unwrap_err();
    assert_eq!(error, RetentionError::TooYoung { rule: 1, after: 86_399, least: 86_400 });
}

#[test]
fn what_comes_after_a_sweep_began_is_left_to_the_next() {
    let ledger = ledger_of(&vec![event(0, &json!({})); 3]);
    let mut sweep = begin(&ledger, &by_age(1), 5);
    for _ in 0..2 {
        let batch = Batch::new(Durability::Os).with_event(event(0, &json!({})));
        ledger.commit(batch).wait().unwrap();
    }
    let step = sweep.step(&ledger, &[]).unwrap().unwrap();
    assert_eq!((step.examined(), step.next(), sweep.progress()), (3, 3, (3, 3)));
    assert_eq!(sweep.step(&ledger, &[]), Ok(None));
}
