//! `weaver trace` on a real ledger.

use std::fs;

use serde_json::{Value, json};
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::{
    Batch, Durability, Ledger, Namespace, NewEvent, RecordKey, RecordWrite,
};
use weaver_types::{CallId, EventKind, Tenant, Timestamp};

use crate::client::{Client, folder};
use crate::support::{Folder, weaver};

const EVENTS: u64 = 12;

/// A folder with a ledger of twelve events.
fn recorded() -> Folder {
    recorded_notes(|n| format!("needle-{n:02}"))
}

fn recorded_notes(note: impl Fn(u64) -> String) -> Folder {
    let folder = Folder::new();
    let ledger = SqliteLedger::open(folder.path("ledger.db"), OpenOptions::default()).unwrap();
    for n in 0..EVENTS {
        let event = NewEvent {
            kind: if n % 2 == 0 { EventKind::Intent } else { EventKind::Outcome },
            at: Timestamp::from_micros(1_700_000_000_000_000),
            run: None,
            call: Some(CallId::parse(format!("call_{}", n / 2)).unwrap()),
            payload: format!("{{\"note\":\"{}\"}}", note(n)).into_bytes().into(),
        };
        ledger.commit(Batch::new(Durability::Disk).with_event(event)).wait().unwrap();
    }
    drop(ledger);
    folder
}

fn trace(folder: &Folder, args: &[&str]) -> crate::support::Run {
    let store = folder.arg("ledger.db");
    let mut all = vec!["trace", args[0], "--store", &store];
    all.extend(&args[1..]);
    weaver(&all)
}

fn shown(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn events_are_listed_and_shown() {
    let folder = recorded();
    let all = shown(&trace(&folder, &["list", "--json", "--oldest-first"]).out);
    assert_eq!(all.len(), 12);
    assert_eq!(all[3]["payload"]["note"], "needle-03");
    assert_eq!((&all[3]["type"], &all[3]["call"]), (&"call.outcome".into(), &"call_1".into()));
    assert_eq!(all[3]["at"], "2023-11-14T22:13:20.000000Z");
    assert_eq!(all[3]["durability"], "disk");

    let seqs = |args: &[&str]| {
        let events = shown(&trace(&folder, args).out);
        events.iter().map(|event| event["seq"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(seqs(&["list", "--json", "--limit", "2"]), [11, 10]);
    assert_eq!(seqs(&["list", "--json", "call:call_2"]), [5, 4]);
    assert_eq!(seqs(&["show", "--json", "call_2"]), [4, 5]);
    assert_eq!(seqs(&["show", "--json", "7"]), [7]);
    assert_eq!(seqs(&["tail", "--json", "-n", "3"]), [9, 10, 11]);
    let text = trace(&folder, &["show", "11"]).out;
    assert!(text.contains("needle-11") && !text.contains('\u{1b}'), "{text}");
}

/// What a user asks of the log: what was called with what, by whom, and why something was stopped.
#[test]
fn the_log_says_what_a_call_was_made_with_and_by_which_client() {
    let folder = folder(&[("s", "good")], "", "");
    let mut client = Client::open(&folder);
    let ask = |tool: &str| json!({ "capability": tool, "arguments": { "text": "about tea" } });
    client.call("tool_execute", ask("s.echo"));
    let (is_error, body) = client.call("tool_execute", ask("s.note"));
    assert!(is_error, "it needs a justification: {body}");
    client.finish();
    let trace = |args: &[&str]| {
        let config = folder.arg("weaver.toml");
        let run = weaver(&[&["trace"], args, &["--config", &config]].concat());
        assert_eq!(run.code, 0, "{run:?}");
        run.out
    };
    let today = trace(&[]);
    assert!(today.contains("text: about tea"), "{today}");
    assert_eq!(trace(&["since:1h"]), today);
    let echo = trace(&["since:1h", "capability:s.echo"]);
    assert!(echo.contains("s.echo") && !echo.contains("s.note"), "{echo}");
    let call = body["call"].as_str().unwrap();
    let why = trace(&["why", call]);
    assert!(why.contains("with {\"text\":\"about tea\"}"), "{why}");
    assert!(why.contains("of test in mode"), "{why}");
    let unknown = weaver(&["trace", "lst"]);
    assert!(unknown.code == 2 && unknown.err.contains("subcommand"), "{unknown:?}");
}

#[test]
fn all_events_of_a_call_are_shown_however_many_they_are() {
    let folder = Folder::new();
    let ledger = SqliteLedger::open(folder.path("ledger.db"), OpenOptions::default()).unwrap();
    for _ in 0..5 {
        let batch = (0..500).fold(Batch::new(Durability::Os), |batch, n| {
            batch.with_event(NewEvent {
                kind: EventKind::Outcome,
                at: Timestamp::from_micros(1_700_000_000_000_000),
                run: None,
                call: CallId::parse(if n % 2 == 0 { "call_1" } else { "call_2" }).ok(),
                payload: b"{}".to_vec().into(),
            })
        });
        ledger.commit(batch).wait().unwrap();
    }
    drop(ledger);
    let events = shown(&trace(&folder, &["show", "--json", "call_1"]).out);
    assert_eq!((events.len(), &events[1_249]["seq"]), (1_250, &2_498.into()));
}

#[test]
fn following_the_log_ends_when_its_reader_has_gone() {
    use std::io::BufRead as _;
    let folder = recorded();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_weaver"))
        .args(["trace", "tail", "--follow", "-n", "3", "--store", &folder.arg("ledger.db")])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    for _ in 0..3 {
        assert!(out.read_line(&mut String::new()).unwrap() > 0);
    }
    // Nothing more is written: the closed pipe alone ends it.
    drop(out);
    assert!(child.wait().unwrap().success());
}

/// Runs the program with a bound on the blocks of each file that it writes, which breaks a write
/// off in the middle, as a full disk does.
fn broken_off(blocks: u32, args: &[&str]) -> std::process::ExitStatus {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let program = env!("CARGO_BIN_EXE_weaver");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script, "sh", program]).args(args).env("HOME", "/nonexistent");
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    command.status().unwrap()
}

#[test]
fn an_export_that_breaks_off_leaves_no_file_under_its_name() {
    let folder = recorded_notes(|n| format!("needle-{n:02}{}", "x".repeat(100_000)));
    let (store, out) = (folder.arg("ledger.db"), folder.arg("out.jsonl"));
    let args = ["trace", "export", "--as", "jsonl", "--no-index", "--store", &store, "--out", &out];
    assert!(!broken_off(800, &args).success());
    let left = std::fs::read_dir(folder.path("")).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    let is_part = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("out.jsonl");
    assert!(!left.iter().any(is_part), "{left:?}");
    assert_eq!(weaver(&args).code, 0, "it can be repeated");
    assert_eq!(std::fs::read_to_string(&out).unwrap().lines().count(), 12);
    assert_eq!(crate::support::mode(&folder.path("out.jsonl")), 0o600);
    let taken = weaver(&args);
    assert!(taken.code == 2 && taken.err.contains("export.write"), "{taken:?}");
}

#[test]
fn a_proposal_that_breaks_off_leaves_no_file_under_its_name() {
    let folder = Folder::new();
    let tools: Vec<Value> =
        (0..40).map(|n| serde_json::json!({ "name": format!("t{n}") })).collect();
    folder.write("tools.json", &serde_json::json!({ "tools": tools }).to_string());
    let (tools, out) = (folder.arg("tools.json"), folder.arg("proposed.toml"));
    let args = ["contracts", "propose", &tools, "--out", &out];
    assert!(!broken_off(1, &args).success());
    assert!(!folder.path("proposed.toml").exists());
    assert_eq!(weaver(&args).code, 0, "it can be repeated");
}

#[test]
fn an_intact_log_is_verified_also_against_an_earlier_head() {
    let folder = recorded();
    let head = trace(&folder, &["head"]);
    assert_eq!((head.code, &head.json()["size"]), (0, &EVENTS.into()));
    // Nobody signs this log.
    assert_eq!(head.err, "");
    let full = trace(&folder, &["head", "--json"]).json();
    assert!(full["signed"].is_null() && full["published"] == serde_json::json!([]), "{full}");
    folder.write("head.json", &head.out);
    let kept = folder.arg("head.json");
    let run = trace(&folder, &["verify", "--head", &kept, "--json"]);
    assert_eq!((run.code, &run.json()["ok"]), (0, &true.into()), "{run:?}");
    let run = trace(&folder, &["verify"]);
    assert!(run.code == 0 && run.out.contains("not proven"), "{run:?}");
    // Searches read the index, which nobody signs.
    assert!(!run.out.contains("trace index --check"), "{run:?}");
    assert_eq!(trace(&folder, &["index", "--rebuild"]).code, 0);
    let run = trace(&folder, &["verify"]);
    assert!(run.code == 0 && run.out.contains("trace index --check"), "{run:?}");
}

#[test]
fn one_changed_byte_is_found_and_named() {
    let folder = recorded();
    let path = folder.path("ledger.db");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(9).position(|window| window == b"needle-07").expect("checkpointed");
    bytes[at] = b'N';
    fs::write(&path, bytes).unwrap();
    let run = trace(&folder, &["verify"]);
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    assert!(run.err.contains("event 7 is bad") && run.err.contains("event.commitment"), "{run:?}");
    let run = trace(&folder, &["verify", "--json"]);
    assert_eq!((run.code, &run.json()["first_bad_event"]), (1, &7.into()));
    // Also where nobody reads what is printed.
    let weaver = env!("CARGO_BIN_EXE_weaver");
    let line = format!(
        "('{weaver}' trace verify --json --store '{}'; echo $? >&2) | true",
        path.display()
    );
    let told = std::process::Command::new("sh").args(["-c", &line]).output().unwrap().stderr;
    assert_eq!(String::from_utf8_lossy(&told).trim(), "1");
}

#[test]
fn a_head_of_a_longer_log_shows_that_the_tail_was_cut() {
    let folder = recorded();
    let head = trace(&folder, &["head"]).out.replace("\"size\":12", "\"size\":13");
    folder.write("head.json", &head);
    let run = trace(&folder, &["verify", "--head", &folder.arg("head.json")]);
    assert!(run.code == 1 && run.err.contains("verify.truncated"), "{run:?}");
}

#[test]
fn what_is_no_ledger_or_no_head_is_refused() {
    let folder = recorded();
    folder.write("head.json", "{}");
    assert_eq!(trace(&folder, &["verify", "--head", &folder.arg("head.json")]).code, 3);
    fs::write(folder.path("ledger.db"), "no database at all, only text of some length").unwrap();
    assert_eq!(trace(&folder, &["verify"]).code, 4);
    fs::remove_file(folder.path("ledger.db")).unwrap();
    for command in ["list", "head", "verify"] {
        let run = trace(&folder, &[command]);
        assert!(run.code == 4 && run.err.contains("ledger.db"), "{run:?}");
        assert!(!folder.path("ledger.db").exists(), "{command} makes no ledger");
    }
}

/// A record of a run that was written with its sum, and without an event: the log is whole.
#[test]
fn a_record_of_a_run_that_the_log_does_not_tell_of_is_found() {
    let folder = recorded();
    let verified = trace(&folder, &["verify", "--json"]);
    assert_eq!(verified.code, 0, "{}", verified.err);
    let state = r#"{"label":{"confidentiality":"public","integrity":"trusted"},"meters":{"cost":0,"denials":0,"latency_us":0,"prompt_tokens":0,"tool_calls":0},"v":1}"#;
    let key = RecordKey::new(Tenant::default(), Namespace::Run, "run_planted");
    let mut batch = Batch::new(Durability::Disk);
    batch.put.push(RecordWrite { key, value: state.as_bytes().to_vec(), expires_at: None });
    let ledger = SqliteLedger::open(folder.path("ledger.db"), OpenOptions::default()).unwrap();
    ledger.commit(batch).wait().unwrap();
    drop(ledger);
    let refused = trace(&folder, &["verify", "--json"]);
    let said: Value = serde_json::from_str(&refused.out).unwrap();
    assert_eq!((&said["ok"], &said["code"]), (&false.into(), &"verify.run".into()));
    assert!(said["message"].as_str().unwrap().contains("run_planted"), "{said}");
    let refused = trace(&folder, &["verify"]);
    assert_ne!(refused.code, 0);
    assert!(refused.err.contains("run_planted"), "{}", refused.err);
}
