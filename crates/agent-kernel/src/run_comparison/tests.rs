use serde_json::{Value, json};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::Durability;

use super::*;

/// The log of these events: the run, and the payload where it was not pruned.
fn log(events: &[(Option<&str>, Option<Value>)]) -> Vec<StoredEvent> {
    let event = |(seq, (run, payload)): (usize, &(Option<&str>, Option<Value>))| StoredEvent {
        seq: seq.try_into().unwrap(),
        header: json!({ "at": seq, "run": run, "type": "call.intent" }).to_string().into_bytes(),
        salt: None,
        payload: payload.as_ref().map(|payload| payload.to_string().into_bytes()),
        durability: Durability::Os,
    };
    events.iter().enumerate().map(event).collect()
}

fn call(run: &str) -> (Option<&str>, Option<Value>) {
    (Some(run), Some(json!({ "run": { "tool_calls": 1 } })))
}

fn record(run: &str, calls: u64) -> (String, Record) {
    let mut state = RunState::default();
    state.meters.tool_calls = calls;
    let value = canonical::serialize(&state, Profile::Record).unwrap();
    (run.to_owned(), Record { version: 1, value })
}

/// Compares records with the log; `later` events come while the records are read.
fn compared(
    before: &[(Option<&str>, Option<Value>)],
    later: &[(Option<&str>, Option<Value>)],
    records: Vec<(String, Record)>,
) -> RunComparison {
    let whole = log(&[before, later].concat());
    let mut left = before.len();
    let read_records = std::cell::Cell::new(false);
    let mut pages: Vec<_> = records.into_iter().map(|one| vec![one]).collect();
    compare_runs(
        &mut |from, limit| {
            if read_records.get() {
                left = whole.len();
            }
            let from = usize::try_from(from).unwrap();
            Ok(whole[..left].iter().skip(from).take(limit.min(2)).cloned().collect())
        },
        &mut || {
            read_records.set(true);
            Ok(pages.pop().unwrap_or_default())
        },
    )
    .unwrap()
}

fn fault(done: &RunComparison) -> Option<(&str, RunFault)> {
    done.first_bad.as_ref().map(|bad| (bad.run.as_str(), bad.fault))
}

#[test]
fn a_record_is_proven_where_its_events_come_to_it() {
    let events = [call("run_1"), call("run_2"), (None, Some(json!({}))), call("run_1")];
    let good = vec![record("run_1", 2), record("run_2", 1)];
    let done = compared(&events, &[], good);
    assert_eq!((done.proven, done.pruned, done.first_bad), (2, 0, None));
    for (records, bad) in [
        (vec![record("run_1", 1), record("run_2", 1)], ("run_1", RunFault::Differs)),
        (vec![record("run_1", 3), record("run_2", 1)], ("run_1", RunFault::Differs)),
        (vec![record("run_1", 2)], ("run_2", RunFault::Differs)),
        (
            vec![record("run_1", 2), record("run_2", 1), record("run_3", 0)],
            ("run_3", RunFault::Planted),
        ),
        (vec![record("run_2", 5), record("run_1", 5)], ("run_1", RunFault::Differs)),
        (vec![record("run_1", 5), record("run_2", 5)], ("run_1", RunFault::Differs)),
    ] {
        let done = compared(&events, &[], records);
        assert_eq!(fault(&done), Some(bad));
    }
}

#[test]
fn of_many_bad_runs_the_first_by_its_id_is_named() {
    let ids: Vec<String> = (10..60).map(|n| format!("run_{n}")).collect();
    let events: Vec<_> = ids.iter().map(|id| call(id)).collect();
    let mut records: Vec<_> = ids.iter().map(|id| record(id, 7)).collect();
    records[0] = record("run_10", 1);
    let done = compared(&events, &[], records);
    assert_eq!((done.proven, fault(&done)), (1, Some(("run_11", RunFault::Differs))));
    assert_eq!(
        done.first_bad.unwrap().to_string(),
        "run `run_11`: its record does not match its events in the log: somebody changed it, \
         removed it or put an older one back"
    );
}

#[test]
fn what_comes_while_the_records_are_read_may_or_may_not_be_in_them() {
    let (before, later) = ([call("run_1"), call("run_1")], [call("run_1"), call("run_1")]);
    for (calls, good) in [(1, false), (2, true), (3, true), (4, true), (5, false)] {
        let done = compared(&before, &later, vec![record("run_1", calls)]);
        assert_eq!(done.first_bad.is_none(), good, "{calls}");
        assert_eq!(done.proven, usize::from(good), "{calls}");
    }
}

#[test]
fn a_run_that_only_begins_afterwards_is_no_fault() {
    let done = compared(&[], &[call("run_1")], Vec::new());
    assert_eq!((done.proven, done.first_bad), (1, None));
    let done = compared(&[], &[call("run_1")], vec![record("run_1", 1)]);
    assert_eq!((done.proven, done.first_bad), (1, None));
}

#[test]
fn a_run_that_never_took_a_step_needs_no_record() {
    let noted = [(Some("run_1"), Some(json!({ "run": "a text" })))];
    let done = compared(&noted, &[], Vec::new());
    assert_eq!((done.proven, done.first_bad), (1, None));
}

#[test]
fn a_run_of_which_payloads_were_pruned_is_counted_apart() {
    let events = [call("run_1"), (Some("run_1"), None), call("run_2")];
    for calls in [0, 1, 9] {
        let done = compared(&events, &[], vec![record("run_1", calls), record("run_2", 1)]);
        assert_eq!((done.proven, done.pruned, done.first_bad), (1, 1, None), "{calls}");
    }
    let done = compared(&events, &[], vec![record("run_2", 1)]);
    assert_eq!((done.proven, done.pruned, done.first_bad), (1, 1, None), "nor without a record");
}

#[test]
fn a_record_that_cannot_be_read_or_that_is_of_no_run() {
    let mut broken = record("run_1", 1);
    broken.1.value = b"{}".to_vec();
    let done = compared(&[call("run_1")], &[], vec![broken]);
    assert_eq!(fault(&done), Some(("run_1", RunFault::Unreadable)));
    let done = compared(&[call("run_1")], &[], vec![record("run_1", 1), record("", 1)]);
    assert_eq!((done.proven, done.first_bad), (1, None), "no run of the kernel has that id");
}
