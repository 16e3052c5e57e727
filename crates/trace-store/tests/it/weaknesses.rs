//! W5, W6 and W7: three weaknesses of the logs that came before, each as a test of its own, and
//! the recorded cases of those logs by their ids. Where we differ the case stands in `DEVIATIONS`,
//! and in `docs/conformance/vector-deviations.md` with the reason. This test binary runs itself as
//! the children.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use weaver_trace_store::entry::EventHeader;
use weaver_trace_store::project::ActionTrace;
use weaver_trace_store::verify::{VerifyError, verify};
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, Durability, Ledger, LedgerError, NewEvent};
use weaver_types::{EventKind, Timestamp, hex};

use crate::support::{fill, numbered, open};

const LODESTAR: &str = include_str!("../data/lodestar_log.json");
const KERNEL: &str = include_str!("../data/agent_kernel_audit.json");
const PLACE: &str = "WEAVER_TEST_W6_LEDGER";

/// Cases that we answer otherwise, or not at all.
const DEVIATIONS: [&str; 3] = ["LOG-02", "A02", "A03"];
/// Cases with a test here.
const TESTED: [&str; 7] = ["LOG-01", "LOG-02", "LOG-03", "LOG-04", "LOG-05", "A01", "A02"];

fn case(id: &str) -> Value {
    let mut all = cases();
    let index = all.iter().position(|case| case["id"] == id).unwrap();
    all.swap_remove(index)
}

fn cases() -> Vec<Value> {
    let read = |text: &str| -> Vec<Value> {
        let file: Value = serde_json::from_str(text).unwrap();
        file["cases"].as_array().unwrap().clone()
    };
    [read(LODESTAR), read(KERNEL)].concat()
}

#[test]
fn every_recorded_case_is_tested_or_listed() {
    let ids: BTreeSet<String> =
        cases().iter().map(|case| case["id"].as_str().unwrap().to_owned()).collect();
    let known: BTreeSet<String> =
        TESTED.iter().chain(&DEVIATIONS).map(|id| (*id).to_owned()).collect();
    assert_eq!(ids, known);
}

fn said(kind: EventKind, payload: &Value) -> Batch {
    let payload = canonical::to_bytes(payload, Profile::Record).unwrap();
    let at = Timestamp::from_micros(1_000);
    Batch::new(Durability::Disk).with_event(NewEvent {
        kind,
        at,
        run: None,
        call: None,
        payload: payload.into(),
    })
}

/// A session as it is held, approved and done.
fn session(path: &Path) {
    let ledger = open(path);
    for (kind, payload) in [
        (EventKind::RunStarted, json!({"v": 1})),
        (EventKind::ApprovalRequested, json!({"capability": "git.push", "request": "req_1"})),
        (EventKind::ApprovalGranted, json!({"by": "alice", "request": "req_1"})),
        (EventKind::Intent, json!({"capability": "git.push"})),
        (EventKind::Outcome, json!({"success": true})),
    ] {
        ledger.commit(said(kind, &payload)).wait().unwrap();
    }
}

/// What verification says after somebody with a database tool has changed the file.
fn change_after(change: &str) -> (Option<u64>, &'static str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    session(&path);
    Connection::open(&path).unwrap().execute_batch(change).unwrap();
    let error = verify(&Reader::open(&path).unwrap(), None).expect_err(change);
    (error.seq(), error.code())
}

/// W5: deleting or editing lines of the log was undetected by its reader and its report.
///
/// Cases: W5, LOG-04.
#[test]
fn an_edited_or_deleted_event_is_found_and_the_first_one_named() {
    assert!(case("LOG-04")["lodestar_v0_5_0"].as_str().unwrap().starts_with("gap"));
    let edit = "UPDATE events SET payload = CAST(replace(CAST(payload AS TEXT), 'git.push',
        'run.tests') AS BLOB) WHERE seq = 1;";
    let delete = "DELETE FROM events WHERE seq = 2;";
    assert_eq!(change_after(edit), (Some(1), "event.commitment"));
    assert_eq!(change_after(delete), (Some(2), "event.missing"));
    assert_eq!(change_after(&format!("{edit}{delete}")), (Some(1), "event.commitment"));
    let swap = "UPDATE events SET seq = -1 WHERE seq = 1; UPDATE events SET seq = 1 WHERE seq = 2;
        UPDATE events SET seq = 2 WHERE seq = -1;";
    assert_eq!(change_after(swap), (Some(1), "event.misplaced"));
}

/// The recorded chain of agent-kernel: what it found is found; what it let through, a log cut off
/// at its end or emptied, is found as well.
///
/// Cases: W5, A01.
#[test]
fn what_the_recorded_chain_found_is_found_and_what_it_missed_too() {
    let recorded = case("A01");
    let output = &recorded["output"];
    let traces = recorded["input"]["traces"].as_array().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    for trace in traces {
        ledger.commit(said(EventKind::Outcome, trace)).wait().unwrap();
    }
    let (head, events) = (ledger.head().unwrap(), ledger.events(0, 10).unwrap());
    assert_eq!(verify(&ledger, Some(&head)).unwrap().head.size, output["ok"]["records_checked"]);
    drop(ledger);
    let changed = |name: &str, change: &str, with_head: bool| {
        let copy = folder.path().join(name);
        std::fs::copy(&path, &copy).unwrap();
        Connection::open(&copy).unwrap().execute_batch(change).unwrap();
        let error = verify(&Reader::open(&copy).unwrap(), with_head.then_some(&head)).unwrap_err();
        (error.seq(), error.code())
    };
    let mutated =
        "UPDATE events SET payload = CAST(replace(CAST(payload AS TEXT), '\"no\"', '\"ok\"')
        AS BLOB) WHERE seq = 1";
    assert_eq!(output["mutated"]["first_bad_seq"], 1);
    assert_eq!(changed("mutated", mutated, false), (Some(1), "event.commitment"));
    // The chain names the record after the gap; we name the gap.
    assert_eq!(output["drop_middle"]["first_bad_seq"], 2);
    let middle = "DELETE FROM events WHERE seq = 1";
    assert_eq!(changed("drop_middle", middle, false), (Some(1), "event.missing"));
    assert_eq!(output["drop_first"]["first_bad_seq"], 1);
    let first = "DELETE FROM events WHERE seq = 0";
    assert_eq!(changed("drop_first", first, false), (Some(0), "event.missing"));
    assert_eq!(output["drop_tail"]["ok"], true, "the reference misses it");
    let tail = "DELETE FROM events WHERE seq = 2";
    assert_eq!(changed("drop_tail", tail, false), (Some(2), "event.missing"));
    assert_eq!(output["empty"]["ok"], true, "the reference misses it");
    assert_eq!(changed("empty", "DELETE FROM events", false), (Some(0), "event.missing"));

    // Cut off with care, head and all: only a head from elsewhere tells, and without one the
    // report says that it cannot.
    let shorter = folder.path().join("shorter.db");
    let careful = open(&shorter);
    careful.commit(said(EventKind::Outcome, &traces[0])).wait().unwrap();
    let report = verify(&careful, None).unwrap();
    assert!(report.not_proven().iter().any(|line| line.contains("cannot rule out truncation")));
    // There is no secret to be wrong: a log under another name is another log.
    assert!(matches!(verify(&careful, Some(&head)), Err(VerifyError::OtherLog { .. })));
    assert_eq!(output["wrong_secret"]["ok"], false);
    assert_eq!(events.len(), 3);
}

/// Cases: A02.
#[test]
fn an_action_has_the_recorded_fields_but_three() {
    let recorded = case("A02");
    let action = ActionTrace {
        action_id: "a0".to_owned(),
        capability_id: "c.x".to_owned(),
        principal_id: "u".to_owned(),
        token_id: "t".to_owned(),
        invoked_at: String::new(),
        args: json!({}),
        response_mode: "summary".to_owned(),
        driver_id: "memory".to_owned(),
        handle_id: None,
        error: None,
        result_summary: None,
        event_type: "invoke",
        reason_code: None,
    };
    let keys = |value: &Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    let (ours, theirs) = (json!(action), &recorded["output"]["traces"][0]);
    let missing: Vec<String> = keys(theirs).difference(&keys(&ours)).cloned().collect();
    assert_eq!(missing, ["correction", "sensitivity", "status"]);
    assert!(keys(&ours).is_subset(&keys(theirs)), "{ours}");
}

/// W6: two processes gave 300 duplicate numbers in 600 appends.
///
/// Cases: W6, LOG-03.
#[test]
fn two_processes_never_give_one_number_twice() {
    assert!(case("LOG-03")["lodestar_v0_5_0"].as_str().unwrap().contains("300 duplicate seq"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let start = || -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["weaknesses::appends_in_a_child_process", "--exact", "--nocapture"])
            .env(PLACE, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let children = [start(), start()];
    let (mut seqs, mut refused) = (Vec::new(), 0);
    for child in children {
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success());
        for line in String::from_utf8(done.stdout).unwrap().lines() {
            seqs.extend(line.strip_prefix("@ ").map(|seq| seq.parse::<u64>().unwrap()));
            refused += usize::from(line.starts_with("@refused by process "));
        }
    }
    seqs.sort_unstable();
    assert_eq!(seqs, (0..600).collect::<Vec<u64>>());
    assert!(refused > 0, "the two never met");
    assert_eq!(verify(&Reader::open(&path).unwrap(), None).unwrap().head.size, 600);
}

/// What each of the two processes does: 300 appends, as soon as it is alone.
///
/// Cases: W6.
#[test]
fn appends_in_a_child_process() {
    let Ok(path) = std::env::var(PLACE) else { return };
    let mut out = std::io::stdout();
    let ledger = loop {
        match SqliteLedger::open(&path, OpenOptions::default()) {
            Ok(ledger) => break ledger,
            Err(LedgerError::Locked { holder, .. }) => {
                out.write_all(format!("\n@refused by {holder}\n").as_bytes()).unwrap();
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(other) => panic!("{other}"),
        }
    };
    // Long enough for the other one to come.
    std::thread::sleep(Duration::from_millis(300));
    for n in 0..300 {
        let receipt = ledger.commit(numbered(n, Durability::Os)).wait().unwrap();
        let line = format!("\n@ {}\n", receipt.first_seq.unwrap());
        out.write_all(line.as_bytes()).unwrap();
    }
}

/// Cases: LOG-01.
#[test]
fn many_writers_in_one_process_leave_no_gap_and_nothing_torn() {
    assert_eq!(case("LOG-01")["then"], "seq exactly 0..99, every line parses");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    assert!(matches!(
        SqliteLedger::open(&path, OpenOptions::default()).err(),
        Some(LedgerError::Locked { .. })
    ));
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let ledger = &ledger;
            scope.spawn(move || {
                let text = "x".repeat(8 * 1024);
                let tickets: Vec<_> = (0..50)
                    .map(|n| {
                        let payload = json!({"n": n, "text": text, "writer": writer});
                        ledger.commit(said(EventKind::Outcome, &payload))
                    })
                    .collect();
                tickets.into_iter().for_each(|ticket| drop(ticket.wait().unwrap()));
            });
        }
    });
    let events = ledger.events(0, 1_000).unwrap();
    let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (0..100).collect::<Vec<u64>>());
    for event in events {
        assert_eq!(EventHeader::parse(&event.header).unwrap().seq, event.seq);
        assert!(serde_json::from_slice::<Value>(&event.payload.unwrap()).is_ok());
    }
}

/// Cases: LOG-02.
#[test]
fn the_canonical_bytes_are_the_same_and_the_log_holds_no_plain_digest_of_them() {
    let recorded = case("LOG-02");
    let bare = json!({"b": 1, "a": [null, 2], "d": {"z": null, "y": "\u{e9}"}});
    let bytes = canonical::to_bytes(&bare, Profile::Record).unwrap();
    assert_eq!(bytes, recorded["then"]["canonical"].as_str().unwrap().as_bytes());
    let plain = hex(&Sha256::digest(&bytes));
    assert_eq!(plain, recorded["then"]["sha256_hex"]);
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    ledger.commit(said(EventKind::Outcome, &bare)).wait().unwrap();
    let event = ledger.events(0, 1).unwrap().remove(0);
    assert_eq!(event.payload.as_deref(), Some(bytes.as_slice()));
    let header = String::from_utf8(event.header).unwrap();
    assert!(!header.contains(&plain), "a guess at the payload could be confirmed");
}

/// A ledger and its write-ahead log as they lie there while it is written.
fn copy(path: &Path, folder: &Path, cut: usize) -> PathBuf {
    let to = folder.join(format!("cut-{cut}"));
    std::fs::copy(path, &to).unwrap();
    let beside = |path: &Path| PathBuf::from(format!("{}-wal", path.display()));
    let mut log = std::fs::read(beside(path)).unwrap();
    log.truncate(log.len().saturating_sub(cut));
    std::fs::write(beside(&to), log).unwrap();
    to
}

/// W7: after a torn last line the reader threw, and the next append was glued to it.
///
/// Cases: W7, LOG-05.
#[test]
fn a_torn_end_is_cut_off_and_said_so_and_the_log_goes_on() {
    assert!(case("LOG-05")["lodestar_v0_5_0"].as_str().unwrap().starts_with("gap"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    fill(&ledger, 20);
    let before = ledger.head().unwrap();
    fill(&ledger, 1);
    let events = ledger.events(0, 100).unwrap();
    let mut torn = 0;
    // One byte, some bytes, a part of a page: the last commit is torn, those before it are whole.
    for cut in [1, 7, 100, 4_000, 5_000] {
        let copy = copy(&path, folder.path(), cut);
        let again = open(&copy);
        assert_eq!(again.head().unwrap(), before, "cut off {cut}");
        assert_eq!(again.events(0, 100).unwrap(), events[..20]);
        torn += usize::from(again.open_report().torn_bytes > 0);
        let receipt = again.commit(numbered(99, Durability::Disk)).wait().unwrap();
        assert_eq!(receipt.first_seq, Some(20));
        assert_eq!(verify(&again, Some(&before)).unwrap().head.size, 21);
        drop(again);
        assert_eq!(verify(&Reader::open(&copy).unwrap(), Some(&before)).unwrap().head.size, 21);
    }
    assert!(torn >= 4, "a torn end was not told of");
}
