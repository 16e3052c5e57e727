//! Runs belong to client processes: whoever starts the gateway. A client that starts it again goes
//! on in its run, another one begins another.

use std::process::Command;

use serde_json::{Value, json};
use weaver_agent_kernel::RunState;
use weaver_policy::approval::{Nonce, OperatorAction, OperatorStatement};
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::{
    Batch, Durability, Ledger as _, Namespace, NewEvent, Record, RecordKey, RecordWrite,
};
use weaver_types::{EventKind, LogId, OsRandom, RunId, Tenant, Timestamp};

use crate::approvals::{alice, drop_in, granted, held, hold, keys, message, now, taken};
use crate::client::{Client, folder, initialize};
use crate::support::Folder;
use crate::support::until;

/// A tool whose text taints the run, and a sink that only a tainted run is kept from.
const TAINT: &str = "[capabilities.\"good.send\"]\neffects = \"write_open\"\nrung = \"L1\"\nlower_rung = true\n\
    sink = \"external_send\"\n\n[capabilities.\"good.people\"]\n\
    effects = \"read_local\"\noutput = { integrity = \"untrusted\" }\n\n";

pub(crate) fn tainting() -> Folder {
    let folder = folder(&[("good", "good")], "", TAINT);
    folder.write("policy/keys.toml", &keys(2));
    folder.sign("keys");
    folder
}

/// A client process other than this one, which starts the gateway and waits for its end.
fn another_client(folder: &Folder) -> Client {
    folder.write("client.sh", "\"$@\"\nexit $?\n");
    let mut command = Command::new("sh");
    command.arg(folder.path("client.sh")).arg(env!("CARGO_BIN_EXE_weaver"));
    command.args(["serve", "--standalone", "--config", &folder.arg("weaver.toml")]);
    Client::start_as(command).shaken()
}

/// This client process, by way of a shell that does nothing else.
fn through_a_shell(folder: &Folder, line: &str) -> Client {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).env("WEAVER", env!("CARGO_BIN_EXE_weaver"));
    command.env("CONFIG", folder.arg("weaver.toml"));
    Client::start_as(command).shaken()
}

/// A pipe with a name whose last writer has gone before the gateway reads it ends all the same.
#[test]
fn a_session_from_a_named_pipe_ends_with_it() {
    let folder = folder(&[("good", "good")], "", "");
    let opening =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize() });
    folder.write("lines", &format!("{opening}\n"));
    let script = "cd \"$FOLDER\" && mkfifo pipe && (cat lines > pipe &) && \
        exec timeout 30 \"$WEAVER\" serve --standalone --config weaver.toml < pipe";
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).env("WEAVER", env!("CARGO_BIN_EXE_weaver"));
    let done = command.env("FOLDER", folder.arg("")).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let answer: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
}

fn taint(client: &mut Client) {
    assert!(!client.execute("good.people", json!({})).0);
}

/// What the sink says: `hold` in a tainted run.
fn send(client: &mut Client) -> String {
    let (_, body) = client.execute("good.send", message("See you at noon."));
    body["verdict"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
}

/// The records of current runs, by their ids.
pub(crate) fn stored(folder: &Folder) -> Vec<(String, Value)> {
    let reader = folder.reader();
    let all = reader.records(&Tenant::default(), Namespace::CurrentRun, None, 100).unwrap();
    let read =
        |(id, record): (String, Record)| (id, serde_json::from_slice(&record.value).unwrap());
    all.into_iter().map(read).collect()
}

fn records(folder: &Folder) -> Vec<Value> {
    stored(folder).into_iter().map(|(_, record)| record).collect()
}

fn runs(folder: &Folder) -> Vec<String> {
    let run = |record: &Value| record["run"].as_str().unwrap().to_owned();
    records(folder).iter().map(run).collect()
}

/// The run of a ledger that knows only one.
pub(crate) fn only_run(folder: &Folder) -> String {
    let runs = runs(folder);
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs[0].clone()
}

/// Writes a record of a current run under this id, while no gateway runs.
fn plant(folder: &Folder, id: &str, record: &Value) {
    let ledger = folder.ledger();
    let key = RecordKey::new(Tenant::default(), Namespace::CurrentRun, id);
    let mut batch = Batch::new(Durability::Disk);
    batch.put.push(RecordWrite { key, value: record.to_string().into_bytes(), expires_at: None });
    ledger.commit(batch).wait().unwrap();
}

#[test]
fn another_client_process_begins_another_run_with_a_clean_label() {
    let folder = tainting();
    let mut client = Client::open(&folder);
    taint(&mut client);
    assert_eq!(send(&mut client), "hold");
    client.finish();
    let first = only_run(&folder);
    let mut client = another_client(&folder);
    assert_eq!(send(&mut client), "allow", "nothing tainted the run of this client");
    let both = runs(&folder);
    assert!(both.len() == 2 && both[0] != both[1] && both.contains(&first), "{both:?}");
    client.finish();
}

#[test]
fn a_client_that_starts_the_gateway_again_keeps_its_run_and_its_taint() {
    let folder = tainting();
    let mut client = Client::open(&folder);
    taint(&mut client);
    client.finish();
    let first = only_run(&folder);
    // What another client does in between changes nothing.
    let mut client = another_client(&folder);
    assert_eq!(send(&mut client), "allow");
    client.finish();
    let mut client = Client::open(&folder);
    assert_eq!(send(&mut client), "hold", "reconnecting washes nothing off");
    client.finish();
    assert!(runs(&folder).contains(&first));
}

#[test]
fn a_hold_is_of_the_client_that_made_the_call() {
    let folder = held("");
    let mut client = Client::open(&folder);
    let first = hold(&mut client, "hello");
    client.finish();
    let mut client = another_client(&folder);
    let second = hold(&mut client, "hello");
    assert_ne!(second, first, "another client opens another request");
    drop_in(&folder, &granted(&folder, &first));
    taken(&folder);
    assert_eq!(hold(&mut client, "hello"), second, "what was granted to the first is not its own");
    client.finish();
    let mut client = Client::open(&folder);
    let (is_error, body) = client.execute("good.send", message("hello"));
    assert!(!is_error, "{body}");
    client.finish();
}

#[test]
fn nobody_is_asked_about_a_call_of_a_client_that_is_gone() {
    let folder = held("");
    let mut client = another_client(&folder);
    let gone = hold(&mut client, "hello");
    client.finish();
    let mut client = Client::open(&folder);
    let own = hold(&mut client, "hello");
    let run = folder.weaver(&["approve", "list", "--json", "--all"]);
    let listed: Vec<Value> =
        run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let status: Vec<_> = listed.iter().map(|one| (&one["id"], &one["status"])).collect();
    assert!(status.contains(&(&json!(gone), &json!("expired"))), "{run:?}");
    assert!(status.contains(&(&json!(own), &json!("requested"))), "{run:?}");
    client.finish();
}

#[test]
fn a_shell_that_only_starts_the_gateway_is_no_client() {
    let folder = tainting();
    let mut client = Client::open(&folder);
    taint(&mut client);
    client.finish();
    let first = only_run(&folder);
    for line in [
        "exec \"$WEAVER\" serve --standalone --config \"$CONFIG\"",
        "\"$WEAVER\" serve --standalone --config \"$CONFIG\"; exit $?",
        "sh -ec 'env \"$WEAVER\" serve --standalone --config \"$CONFIG\"; true'; exit $?",
    ] {
        let mut client = through_a_shell(&folder, line);
        assert_eq!(send(&mut client), "hold", "{line}");
        client.finish();
        assert_eq!(only_run(&folder), first, "{line}");
    }
}

#[test]
fn records_of_clients_that_are_gone_are_removed_at_the_next_start() {
    let folder = tainting();
    let mut client = another_client(&folder);
    assert_eq!(send(&mut client), "allow");
    client.finish();
    let gone = only_run(&folder);
    let mut client = Client::open(&folder);
    assert_eq!(send(&mut client), "allow");
    client.finish();
    assert_ne!(only_run(&folder), gone);
    // A process of an earlier boot had the same number and the same start.
    let mut earlier = records(&folder).remove(0);
    earlier["client"]["process"]["boot"] = json!("00000000-0000-0000-0000-000000000000");
    earlier["run"] = json!("run_earlier");
    plant(&folder, "an earlier boot", &earlier);
    assert_eq!(runs(&folder).len(), 2);
    Client::open(&folder).finish();
    assert_ne!(only_run(&folder), "run_earlier");
}

/// The ends of runs in the log: which run, and why.
fn ends(folder: &Folder) -> Vec<(String, String)> {
    let reader = folder.reader();
    let size = reader.head().unwrap().size;
    let events = reader.events(0, usize::try_from(size).unwrap()).unwrap();
    let parsed = events.iter().map(|event| {
        let header: Value = serde_json::from_slice(&event.header).unwrap();
        let payload: Value = serde_json::from_slice(event.payload.as_ref().unwrap()).unwrap();
        (header, payload)
    });
    let finished = parsed.filter(|(header, _)| header["type"] == "run.finished");
    finished
        .map(|(header, payload)| {
            assert_eq!(payload["decision_key"], "kernel.run.finished");
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&header["run"]), text(&payload["end"]))
        })
        .collect()
}

#[test]
fn the_run_of_a_client_that_is_gone_is_finished_in_the_log_once() {
    let folder = tainting();
    let mut client = another_client(&folder);
    assert_eq!(send(&mut client), "allow");
    client.finish();
    let gone = only_run(&folder);
    for _ in 0..2 {
        let mut client = Client::open(&folder);
        assert_eq!(send(&mut client), "allow");
        client.finish();
        assert_eq!(ends(&folder), [(gone.clone(), "client_gone".to_owned())]);
    }
}

#[test]
fn a_run_that_nobody_used_for_long_is_finished_in_the_log_once() {
    let folder = tainting();
    let mut client = Client::open(&folder);
    assert_eq!(send(&mut client), "allow");
    client.finish();
    assert_eq!(ends(&folder), []);
    let idle = only_run(&folder);
    as_two_days_ago(&folder);
    for _ in 0..2 {
        let mut client = Client::open(&folder);
        assert_eq!(send(&mut client), "allow");
        client.finish();
        assert_eq!(ends(&folder), [(idle.clone(), "idle".to_owned())]);
    }
    assert_ne!(only_run(&folder), idle);
}

/// Begins the ledger anew, with the only run as it would be if it had been used two days ago.
fn as_two_days_ago(folder: &Folder) {
    let at = Timestamp::from_micros(now().micros() - 2 * 86_400 * 1_000_000);
    begin_anew(folder, at, &RunState::default(), json!({ "last_used": at }), None);
}

/// Begins the ledger anew, with the only run as one that began at `at`. `changes` are those of its
/// record; `outcome` is that of a call.
pub(crate) fn begin_anew(
    folder: &Folder,
    at: Timestamp,
    state: &RunState,
    changes: Value,
    outcome: Option<Value>,
) -> String {
    let (id, mut record) = stored(folder).remove(0);
    for (name, value) in changes.as_object().unwrap() {
        record[name] = value.clone();
    }
    for file in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let _ = std::fs::remove_file(folder.path(&format!(".weaver/{file}")));
    }
    let run = RunId::parse(record["run"].as_str().unwrap()).unwrap();
    let event = |kind, run, payload: Value| NewEvent {
        kind,
        at,
        run,
        call: None,
        payload: payload.to_string().into_bytes().into(),
    };
    let key = |namespace, id: &str| RecordKey::new(Tenant::default(), namespace, id);
    let entered = json!({ "tenant": "local", "client": id, "entered": run });
    let mut batch = Batch::new(Durability::Disk)
        .with_event(event(EventKind::RunEntered, None, entered))
        .with_event(event(EventKind::RunStarted, Some(run.clone()), json!({ "run": {} })))
        .create(key(Namespace::Run, run.as_str()), serde_json::to_vec(state).unwrap(), None)
        .create(key(Namespace::CurrentRun, &id), record.to_string().into_bytes(), None);
    if let Some(outcome) = outcome {
        batch = batch.with_event(event(EventKind::Outcome, Some(run.clone()), outcome));
    }
    folder.ledger().commit(batch).wait().unwrap();
    run.to_string()
}

/// Whoever can write the store can correct its sums; the log tells which run a client works in.
#[test]
fn a_record_that_is_removed_dated_back_or_of_another_run_washes_nothing_off() {
    let folder = tainting();
    let mut other = another_client(&folder);
    assert_eq!(send(&mut other), "allow");
    other.finish();
    let clean = only_run(&folder);
    let mut client = Client::open(&folder);
    taint(&mut client);
    client.finish();
    let first = runs(&folder).into_iter().find(|run| *run != clean).unwrap();
    for tampering in ["removed", "dated back", "of another run"] {
        let own = |(_, record): &(String, Value)| record["run"] == json!(first);
        let (id, mut record) = stored(&folder).into_iter().find(own).unwrap();
        match tampering {
            "removed" => {
                let path = folder.path(".weaver/ledger.db");
                let ledger = SqliteLedger::open(path, OpenOptions::default()).unwrap();
                let mut batch = Batch::new(Durability::Disk);
                let key = RecordKey::new(Tenant::default(), Namespace::CurrentRun, id);
                batch.delete.push(key);
                ledger.commit(batch).wait().unwrap();
            }
            "dated back" => {
                let last = record["last_used"].as_i64().unwrap();
                record["last_used"] = json!(last - 365 * 86_400 * 1_000_000);
                plant(&folder, &id, &record);
            }
            _ => {
                record["run"] = json!(clean);
                plant(&folder, &id, &record);
            }
        }
        let mut client = Client::open(&folder);
        assert_eq!(send(&mut client), "hold", "{tampering}");
        client.finish();
        assert!(runs(&folder).contains(&first), "{tampering}");
    }
}

#[test]
fn a_newer_record_of_the_client_is_not_passed_over() {
    let folder = tainting();
    let mut client = Client::open(&folder);
    assert_eq!(send(&mut client), "allow");
    client.finish();
    let (id, mut record) = stored(&folder).remove(0);
    record["v"] = json!(4);
    plant(&folder, &id, &record);
    let mut client = Client::open(&folder);
    let refusal = client.refusal("good.echo", json!({}));
    assert_eq!(refusal, ("deny".to_owned(), "ledger_unavailable".to_owned()));
    client.finish();
}

#[test]
fn an_operator_ends_the_run_of_a_client_that_is_away() {
    let folder = tainting();
    let mut client = Client::open(&folder);
    taint(&mut client);
    client.finish();
    let first = only_run(&folder);
    let mut client = another_client(&folder);
    assert_eq!(send(&mut client), "allow");
    let log = folder.reader().head().unwrap().log;
    let word = OperatorStatement {
        v: 1,
        action: OperatorAction::EndRun { run: RunId::parse(&first).unwrap() },
        log: LogId::parse(log.as_str()).unwrap(),
        approver: "alice".to_owned(),
        at: now(),
        nonce: Nonce::random(&OsRandom).unwrap(),
    };
    drop_in(&folder, &word.sign(&alice()).unwrap().to_json().unwrap());
    taken(&folder);
    until("the record is removed", || !runs(&folder).contains(&first));
    assert_eq!(runs(&folder).len(), 1, "that of the client that is there stays");
    client.finish();
    let mut client = Client::open(&folder);
    assert_eq!(send(&mut client), "allow", "its next call is in another run");
    assert!(!runs(&folder).contains(&first));
    client.finish();
}
