use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weaver_types::ledger::{Batch, CommitTicket, Durability, Namespace, RecordKey, TreeHead};
use weaver_types::{Digest, LogId, Tenant};

use super::*;

/// A log of these events, which notes what is read of it.
#[derive(Default)]
struct Events {
    all: Mutex<Vec<StoredEvent>>,
    reads: Mutex<Vec<(u64, usize)>>,
}

impl Events {
    fn add(&self, run: Option<&str>, kind: &str, payload: Option<Value>) {
        let mut all = self.all.lock().unwrap();
        let header = match run {
            Some(run) => json!({ "at": seq_of(&all), "run": run, "type": kind }),
            None => json!({ "at": seq_of(&all), "type": kind }),
        };
        let seq = seq_of(&all);
        all.push(StoredEvent {
            seq,
            header: header.to_string().into_bytes(),
            salt: None,
            payload: payload.map(|payload| payload.to_string().into_bytes()),
            durability: Durability::Os,
        });
    }

    /// The beginning of a run and the given number of its calls.
    fn calls(&self, run: &str, count: u64) {
        self.add(Some(run), "run.started", Some(json!({ "run": {} })));
        (0..count).for_each(|_| self.add(Some(run), "call.intent", Some(one_call())));
    }
}

/// The number of the next event, which is its time too.
fn seq_of(all: &[StoredEvent]) -> u64 {
    u64::try_from(all.len()).unwrap()
}

fn one_call() -> Value {
    json!({ "run": { "tool_calls": 1 } })
}

impl Ledger for Events {
    fn submit(&self, _: Arc<Batch>) -> CommitTicket {
        CommitTicket::ready(Err(LedgerError::Closed))
    }

    fn read(&self, _: &RecordKey) -> Result<Option<Record>, LedgerError> {
        Ok(None)
    }

    fn list(
        &self,
        _: &Tenant,
        _: Namespace,
        _: Option<&str>,
        _: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        Ok(Vec::new())
    }

    fn events(&self, from: u64, limit: usize) -> Result<Vec<StoredEvent>, LedgerError> {
        self.reads.lock().unwrap().push((from, limit));
        let from = usize::try_from(from).unwrap();
        Ok(self.all.lock().unwrap().iter().skip(from).take(limit).cloned().collect())
    }

    fn head(&self) -> Result<TreeHead, LedgerError> {
        let size = u64::try_from(self.all.lock().unwrap().len()).unwrap();
        Ok(TreeHead {
            log: LogId::parse("log_1").unwrap(),
            size,
            root: Digest::from_bytes([0; 32]),
        })
    }

    fn synced_head(&self) -> Result<TreeHead, LedgerError> {
        self.head()
    }
}

fn run(id: &str) -> RunId {
    RunId::parse(id).unwrap()
}

/// A record that counts this number of calls.
fn record(calls: u64) -> Record {
    let mut state = RunState::default();
    state.meters.tool_calls = calls;
    let value =
        weaver_types::canonical::serialize(&state, weaver_types::canonical::Profile::Record);
    Record { version: calls + 1, value: value.unwrap() }
}

/// So many calls that a run is known to have made, or what is wrong with its record.
fn proven(log: &mut RunLog, events: &Events, of: &str, stored: Option<u64>) -> String {
    let found = log.find_run(&run(of), events, || Ok(stored.map(record)));
    match found.and_then(|stored| stored.verify(events)) {
        Ok(run) => format!("{} at {}", run.state.meters.tool_calls, run.version),
        Err(error) => {
            let text = error.to_string();
            let faults = [
                ("changed it", RunFault::Differs),
                ("no such run", RunFault::Planted),
                ("were pruned", RunFault::Pruned),
                ("began before", RunFault::TooOld),
            ];
            let found = faults.into_iter().find(|(words, _)| text.contains(words));
            format!("{:?}", found.unwrap_or_else(|| panic!("{text}")).1)
        }
    }
}

#[test]
fn a_record_counts_where_the_events_of_its_run_come_to_it() {
    let events = Events::default();
    events.calls("run_1", 3);
    events.add(Some("run_2"), "run.started", Some(json!({ "run": {} })));
    events.add(None, "host.note", Some(json!({})));
    events.add(Some("run_2"), "call.intent", None);
    for (of, stored, said) in [
        ("run_1", Some(3), "3 at 4"),
        ("run_1", Some(2), "Differs"),
        ("run_1", Some(4), "Differs"),
        ("run_1", None, "Differs"),
        ("run_2", Some(1), "Pruned"),
        ("run_3", Some(0), "Planted"),
        ("run_3", None, "0 at 0"),
    ] {
        assert_eq!(proven(&mut RunLog::default(), &events, of, stored), said, "{of} {stored:?}");
    }
}

#[test]
fn what_came_since_the_last_look_is_looked_at_before_a_record_is_refused() {
    let (events, mut log) = (Events::default(), RunLog::default());
    events.calls("run_1", 1);
    assert_eq!(proven(&mut log, &events, "run_1", Some(1)), "1 at 2");
    events.add(Some("run_1"), "call.intent", Some(one_call()));
    assert_eq!(proven(&mut log, &events, "run_1", Some(2)), "2 at 3");
    assert_eq!(proven(&mut log, &events, "run_1", Some(1)), "Differs", "put back");
    assert_eq!(proven(&mut log, &events, "run_1", Some(5)), "Differs");
    events.calls("run_2", 0);
    assert_eq!(proven(&mut log, &events, "run_2", Some(0)), "0 at 1", "begun since");
}

#[test]
fn events_of_a_run_that_stand_close_together_are_read_together() {
    let events = Events::default();
    events.calls("run_1", 2);
    (0..60).for_each(|_| events.add(None, "host.note", Some(json!({}))));
    // The 64th from the first on is the last that is read with it.
    events.add(Some("run_1"), "call.intent", Some(one_call()));
    events.add(Some("run_1"), "call.intent", Some(one_call()));
    let mut log = RunLog::default();
    assert_eq!(proven(&mut log, &events, "run_1", Some(4)), "4 at 5");
    assert_eq!(*events.reads.lock().unwrap(), [(0, 65), (0, 64), (64, 1)]);
}

/// The judgement of a record that counts this number of calls.
fn judged(log: &RunEvents, calls: u64, from: u64) -> Option<RunFault> {
    let mut state = RunState::default();
    state.meters.tool_calls = calls;
    log.fault(&state, from)
}

fn run_events(changes: usize, at_least: usize) -> RunEvents {
    let delta = RunDelta { tool_calls: 1, ..RunDelta::default() };
    let changes = vec![delta; changes];
    RunEvents {
        changes,
        min_changes: at_least,
        has_events: true,
        has_start: true,
        restated: RestatedChanges::new(),
        payload_missing: false,
    }
}

#[test]
fn a_record_may_have_any_state_between_the_first_look_and_the_last_and_no_other() {
    for (calls, fault) in [
        (1, Some(RunFault::Differs)),
        (2, None),
        (3, None),
        (4, None),
        (5, Some(RunFault::Differs)),
    ] {
        assert_eq!(judged(&run_events(4, 2), calls, 0), fault, "{calls}");
    }
    assert_eq!(judged(&run_events(1, 2), 1, 0), Some(RunFault::Differs), "events are gone");
}

#[test]
fn a_run_is_judged_by_what_is_left_of_its_events() {
    let begun = run_events(1, 1);
    let old = RunEvents { has_start: false, ..run_events(1, 1) };
    let pruned = RunEvents { payload_missing: true, ..run_events(1, 1) };
    for (events, from, fault) in [
        (&RunEvents::default(), 0, Some(RunFault::Planted)),
        (&RunEvents::default(), 1, Some(RunFault::TooOld)),
        (&begun, 0, None),
        (&begun, 1, None),
        (&old, 0, None),
        (&old, 1, Some(RunFault::TooOld)),
        (&pruned, 0, Some(RunFault::Pruned)),
        (&pruned, 1, Some(RunFault::Pruned)),
    ] {
        assert_eq!(judged(events, 1, from), fault, "{events:?} from {from}");
    }
}

#[test]
fn the_first_event_of_a_run_and_a_payload_that_is_gone_are_noted() {
    let events = Events::default();
    events.calls("run_1", 1);
    events.add(Some("run_1"), "run.finished", Some(json!({ "run": "a text" })));
    events.add(Some("run_1"), "call.intent", None);
    events.add(Some("run_1"), "call.intent", Some(json!("no object")));
    let all = events.all.lock().unwrap().clone();
    let taken = |places: &[usize]| {
        let mut run_events = RunEvents::default();
        places.iter().for_each(|at| run_events.add(&all[*at]).unwrap());
        (
            run_events.has_events,
            run_events.has_start,
            run_events.payload_missing,
            run_events.changes.len(),
        )
    };
    assert_eq!(taken(&[]), (false, false, false, 0));
    assert_eq!(taken(&[0]), (true, true, false, 1));
    assert_eq!(taken(&[0, 1]), (true, true, false, 2), "once begun, it has begun");
    assert_eq!(taken(&[1]), (true, false, false, 1));
    assert_eq!(taken(&[2]), (true, false, false, 0), "a text under that key is no change");
    assert_eq!(taken(&[3]), (true, false, true, 0));
    assert_eq!(taken(&[4]), (true, false, true, 0));
}

#[test]
fn what_is_known_stays_bounded_and_never_below_the_last_200_000_events() {
    let known = |from: u64, size: u64| {
        let places = [
            (run("run_1"), vec![5, 250_000]),
            (run("run_2"), vec![7]),
            (run("run_3"), vec![199_999, 200_000]),
        ];
        let mut log = RunLog {
            indexed_from: from,
            event_seqs: places.into_iter().collect(),
            ..RunLog::default()
        };
        log.drop_old_events(size);
        let mut left: Vec<_> =
            log.event_seqs.into_iter().map(|(run, places)| (run.to_string(), places)).collect();
        left.sort();
        (log.indexed_from, left)
    };
    let all = |from: u64| {
        let of = |run: &str, places: Vec<u64>| (run.to_owned(), places);
        let left = [
            of("run_1", vec![5, 250_000]),
            of("run_2", vec![7]),
            of("run_3", vec![199_999, 200_000]),
        ];
        (from, left.to_vec())
    };
    assert_eq!(known(0, 399_999), all(0));
    assert_eq!(known(1, 400_000), all(1));
    let kept = [("run_1".to_owned(), vec![250_000]), ("run_3".to_owned(), vec![200_000])];
    assert_eq!(known(0, 400_000), (200_000, kept.to_vec()));
}

#[test]
fn a_header_that_cannot_be_read_is_an_error_and_not_a_run_without_events() {
    let events = Events::default();
    events.calls("run_1", 1);
    events.all.lock().unwrap()[1].header = b"{".to_vec();
    let error = RunLog::default().find_run(&run("run_1"), &events, || Ok(None)).unwrap_err();
    assert!(error.to_string().contains("number 1 has no readable header"), "{error}");
}

/// The run that the client `c` works in, with the time of its last event.
fn entered(log: &mut RunLog, events: &Events) -> Option<(String, i64)> {
    let entered = log.entered_run(&Tenant::default(), "c", events).unwrap();
    entered.map(|(run, at)| (run.to_string(), at.micros()))
}

/// What the user says changes no meter, so the record alone does not show that there is more.
#[test]
fn digests_that_came_since_the_last_look_are_known() {
    let (events, mut log) = (Events::default(), RunLog::default());
    events.calls("run_1", 1);
    assert_eq!(proven(&mut log, &events, "run_1", Some(1)), "1 at 2");
    let digest = Digest::from_bytes([7; 32]);
    let said = json!({ "run": { "provenance": [digest] } });
    events.add(Some("run_1"), "run.user_said", Some(said));
    let stored = Record { version: 3, ..record(1) };
    let known = log.find_run(&run("run_1"), &events, || Ok(Some(stored))).unwrap();
    let known = known.verify(&events).unwrap();
    assert_eq!(known.provenance, HashSet::from([digest]));
}

#[test]
fn the_clients_of_another_tenant_are_others() {
    let (events, mut log) = (Events::default(), RunLog::default());
    let other = json!({ "tenant": "other", "client": "c", "entered": "run_1" });
    events.add(None, "run.entered", Some(other));
    assert_eq!(entered(&mut log, &events), None);
}

#[test]
fn a_client_works_in_the_run_that_it_entered_last_until_that_is_over() {
    let (events, mut log) = (Events::default(), RunLog::default());
    let enter = |client: &str, run: &str| {
        events.add(
            None,
            "run.entered",
            Some(json!({ "tenant": "local", "client": client, "entered": run })),
        );
    };
    assert_eq!(entered(&mut log, &events), None);
    enter("c", "run_1");
    enter("d", "run_2");
    assert_eq!(entered(&mut log, &events), Some(("run_1".to_owned(), 0)));
    events.calls("run_1", 2);
    assert_eq!(entered(&mut log, &events), Some(("run_1".to_owned(), 4)));
    events.add(Some("run_2"), "run.finished", Some(json!({ "run": {} })));
    assert_eq!(entered(&mut log, &events), Some(("run_1".to_owned(), 4)), "another one's end");
    events.add(Some("run_1"), "run.restated", Some(json!({ "changes": [], "v": 1 })));
    assert_eq!(entered(&mut log, &events), Some(("run_1".to_owned(), 4)), "that is no use of it");
    events.add(Some("run_1"), "run.finished", Some(json!({ "run": {} })));
    assert_eq!(entered(&mut log, &events), None);
    enter("c", "run_1");
    let at = seq_of(&events.all.lock().unwrap()) - 1;
    assert_eq!(entered(&mut log, &events), Some(("run_1".to_owned(), i64::try_from(at).unwrap())));
    events.add(None, "run.entered", None);
    events.add(None, "run.entered", Some(json!({ "tenant": "local", "client": "c" })));
    assert!(entered(&mut log, &events).is_some(), "what cannot be read tells nothing");
    log.entries.drop_before(at);
    assert!(entered(&mut log, &events).is_some(), "told at the first event that is kept");
    events.add(Some("run_1"), "run.finished", None);
    let end = seq_of(&events.all.lock().unwrap()) - 1;
    assert_eq!(entered(&mut log, &events), None);
    log.entries.drop_before(end);
    enter("c", "run_2");
    assert_eq!(entered(&mut log, &events).unwrap().0, "run_2");
    log.entries.drop_before(u64::MAX);
    assert_eq!(entered(&mut log, &events), None);
}

#[test]
fn an_end_counts_as_long_as_the_entry_before_it() {
    let (events, mut log) = (Events::default(), RunLog::default());
    events.add(
        None,
        "run.entered",
        Some(json!({ "tenant": "local", "client": "c", "entered": "run_1" })),
    );
    events.add(Some("run_1"), "run.finished", None);
    assert_eq!(entered(&mut log, &events), None);
    log.entries.drop_before(0);
    assert_eq!(entered(&mut log, &events), None, "both are kept");
}

#[test]
fn the_first_look_finds_what_was_revoked_and_gives_it_once() {
    let (events, mut log) = (Events::default(), RunLog::default());
    events.add(None, "grant.revoked", Some(json!({ "subject": "run:run_1" })));
    events.add(None, "grant.revoked", None);
    assert_eq!(log.index_and_take_revocations(&events).unwrap().len(), 2);
    events.add(None, "grant.revoked", Some(json!({ "subject": "run:run_2" })));
    log.entered_run(&Tenant::default(), "c", &events).unwrap();
    assert_eq!(log.index_and_take_revocations(&events).unwrap(), [], "this process knows it");
}
