//! Asking the log: on the ledger of the demo, and on one that is hostile to terminals.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::{Batch, Durability, Ledger, NewEvent};
use weaver_types::signature::{DocumentKind, Envelope};
use weaver_types::{CallId, EventKind, Timestamp};

use crate::support::{Folder, Run, weaver, weaver_with};

/// The folder that the demo leaves, made once.
fn demo() -> &'static (tempfile::TempDir, PathBuf) {
    static DEMO: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    DEMO.get_or_init(|| {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("demo");
        let run = weaver(&["demo", "--json", "--keep", folder.to_str().unwrap()]);
        assert_eq!(run.code, 0, "{run:?}");
        (parent, folder.join(".weaver/ledger.db"))
    })
}

fn ask(args: &[&str]) -> Run {
    let mut all = vec!["trace", args[0], "--store", demo().1.to_str().unwrap()];
    all.extend(&args[1..]);
    weaver(&all)
}

fn events(args: &[&str]) -> Vec<Value> {
    let run = ask(args);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{args:?}");
    run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn seqs(args: &[&str]) -> Vec<u64> {
    events(args).iter().map(|event| event["seq"].as_u64().unwrap()).collect()
}

/// The call that deleted the note, after it was held and released.
fn released() -> String {
    let found = events(&["list", "event:call.intent", "capability:files.delete_note", "--json"]);
    found[0]["call"].as_str().unwrap().to_owned()
}

#[test]
fn why_tells_the_whole_story_of_a_released_call() {
    let story = ask(&["why", &released(), "--json"]).json();
    let parts: Vec<&str> =
        story["steps"].as_array().unwrap().iter().map(|s| s["part"].as_str().unwrap()).collect();
    let wanted = [
        "run", "shortlist", "approval", "goal", "decision", "approval", "goal", "decision",
        "approval", "token", "execution", "result", "shown",
    ];
    assert_eq!(parts, wanted);
    let all = story.to_string();
    for word in [
        "search the support tickets",
        "it is out of date",
        "floor_hold",
        "granted by owner, 1 of 1, after ",
        "released by owner in apr_",
        "its one-time permit tok_",
        "handed to mcp:files with",
        "success after",
        "the model saw, in mode auto: 0 rows",
        "bytes",
        "the whole lies behind hdl_",
    ] {
        assert!(all.contains(word), "{word}: {all}");
    }
    assert_eq!(story["calls"].as_array().unwrap().len(), 2, "the held call and the released one");
    assert_eq!(story["missing"], serde_json::json!([]));
    let text = ask(&["why", &released()]).out;
    assert!(text.contains("decision   allow: files.delete_note for demo"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours into a pipe");
}

#[test]
fn a_story_is_found_by_whatever_names_it() {
    let call = released();
    let told = ask(&["why", &call, "--json"]).out;
    let event = events(&["list", "event:call.intent", &format!("call:{call}"), "--json"]).remove(0);
    let payload = &event["payload"];
    let ids = [
        event["seq"].to_string(),
        payload["released_by"]["request"].as_str().unwrap().to_owned(),
        payload["token"].as_str().unwrap().to_owned(),
    ];
    for id in ids {
        assert_eq!(ask(&["why", &id, "--json"]).out, told, "{id}");
        assert_eq!(ask(&["why", &id, "--json", "--no-index"]).out, told, "{id}");
    }
    // A look at a result belongs to the story of the call that made it.
    let look = events(&["list", "event:handle.resolved", "--json"]).remove(0);
    let (view, handle) =
        (look["call"].as_str().unwrap(), look["payload"]["handle"].as_str().unwrap());
    let story = ask(&["why", handle, "--json"]).json();
    assert_eq!(ask(&["why", view, "--json"]).json(), story);
    let said = story.to_string();
    assert!(said.contains("files.search_tickets") && said.contains("looked further"), "{said}");
    assert!(said.contains("redacted_email"), "{said}");
}

#[test]
fn a_refused_call_says_what_is_not_told() {
    let found = events(&[
        "list",
        "event:call.refused",
        "verdict:deny",
        "capability:files.wipe_notes",
        "--json",
    ]);
    let story = ask(&["why", found[0]["call"].as_str().unwrap(), "--json"]).json();
    assert!(story.to_string().contains("explicit_deny_rule"), "{story}");
    assert!(!story.to_string().contains("\"token\""), "{story}");
    assert_eq!(ask(&["why", "call_0000"]).code, 7);
    assert_eq!(ask(&["why", "999999"]).code, 7);
    for wrong in ["", "nothing", "run_1", "-1"] {
        assert_eq!(ask(&["why", "--", wrong]).code, 2, "{wrong}");
    }
}

#[test]
fn terms_select_and_query_is_another_name_of_list() {
    let all = seqs(&["list", "--json", "--limit", "1000", "--oldest-first"]);
    assert_eq!(all, (0..u64::try_from(all.len()).unwrap()).collect::<Vec<_>>());
    for terms in [
        &["verdict:hold,deny"][..],
        &["reason:untrusted_influence"],
        &["label:untrusted", "outcome:success"],
        &["capability:files.delete_note", "event:call.*"],
        &["principal:demo", "since:1h", "report"],
        &["out of date"],
    ] {
        let with = |first: &str, more: &[&str]| {
            let mut args = vec![first];
            args.extend(terms);
            args.extend(["--json", "--limit", "1000"]);
            args.extend(more);
            seqs(&args)
        };
        let found = with("list", &[]);
        assert!(!found.is_empty() && found.len() < all.len(), "{terms:?}");
        assert_eq!(with("query", &[]), found, "{terms:?}");
        assert_eq!(with("list", &["--no-index"]), found, "{terms:?}");
    }
    assert!(seqs(&["list", "since:2020-01-01", "until:2020-01-02", "--json"]).is_empty());
    for (wrong, code) in [
        ("verdct:deny", "query.field"),
        ("verdict:denied", "query.value"),
        ("since:yesterday", "query.value"),
        ("\"open", "query.quote"),
    ] {
        let run = ask(&["list", wrong]);
        assert!(run.code == 2 && run.err.contains(code), "{wrong}: {run:?}");
    }
}

#[test]
fn pages_go_on_where_they_ended() {
    let whole = seqs(&["list", "--json", "--limit", "1000"]);
    let mut paged = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let mut args = vec!["list", "--json", "--limit", "7"];
        if let Some(after) = &after {
            args.extend(["--after", after]);
        }
        let page = events(&args);
        let Some(last) = page.last() else { break };
        after = Some(last["cursor"].as_str().unwrap().to_owned());
        paged.extend(page.iter().map(|event| event["seq"].as_u64().unwrap()));
    }
    assert_eq!(paged, whole);
    let run = ask(&["list", "--limit", "3"]);
    assert!(run.err.contains("more: --after "), "{run:?}");
    let cursor = after.unwrap();
    let run = ask(&["list", "--after", &cursor, "verdict:deny"]);
    assert!(run.code == 2 && run.err.contains("query.cursor"), "{run:?}");
}

#[test]
fn statistics_are_those_of_the_events() {
    let stats = ask(&["stats", "--json"]).json()["stats"].clone();
    assert_eq!(ask(&["stats", "--json", "--no-index"]).json()["stats"], stats);
    let many = |args: &[&str]| u64::try_from(seqs(args).len()).unwrap();
    assert_eq!(stats["grants"], many(&["list", "event:call.intent", "--json"]));
    let ended = many(&["list", "event:call.outcome,call.outcome_unknown", "--json"]);
    assert_eq!(stats["invocations"], ended);
    let good = many(&["list", "outcome:success", "--json"]);
    assert_eq!(stats["failures"].as_u64(), Some(ended - good));
    let denied = stats["denials_by_reason"].as_object().unwrap().values();
    let denied: u64 = denied.map(|many| many.as_u64().unwrap()).sum();
    assert_eq!(denied, many(&["list", "event:call.refused", "--json"]));
    assert_eq!(stats["holds"]["requested"], many(&["list", "event:approval.requested", "--json"]));
    assert_eq!((&stats["holds"]["answered"], &stats["holds"]["granted"]), (&2.into(), &2.into()));
    assert!(stats["holds"]["longest_us"].as_u64().unwrap() > 0);
    assert!(stats["redactions"]["redacted_email"].as_u64().unwrap() > 0);
    let of = ask(&["stats", "capability:files.search_tickets", "--json"]).json();
    assert_eq!((&of["stats"]["grants"], &of["stats"]["views"]), (&1.into(), &1.into()));
    assert!(ask(&["stats"]).out.contains("on average"));
}

#[test]
fn the_gateway_has_built_the_index_and_a_check_agrees() {
    let status = ask(&["index", "--check", "--json"]).json();
    assert_eq!((&status["ok"], &status["wrong"]), (&true.into(), &0.into()), "{status}");
    assert_eq!(status["indexed"], status["events"]);
}

#[test]
fn every_export_is_written() {
    let run =
        events(&["list", "event:run.started", "--json"])[0]["run"].as_str().unwrap().to_owned();
    let terms = format!("run:{run}");
    for form in ["jsonl", "bundle", "otlp", "csv", "actions", "runs"] {
        let out = ask(&["export", "--as", form, &terms]);
        assert!(out.code == 0 && !out.out.is_empty(), "{form}: {out:?}");
    }
    let whole = ask(&["export", "--as", "jsonl"]).out;
    let lines = weaver_trace_store::verify::JsonLinesLog::read(whole.as_bytes()).unwrap();
    weaver_trace_store::verify::verify(&lines, None).unwrap();
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("out.csv");
    let path = file.to_str().unwrap();
    assert_eq!(ask(&["export", "--as", "csv", "--out", path]).code, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), ask(&["export", "--as", "csv"]).out);
    assert_eq!(ask(&["export", "--as", "csv", "--out", path]).code, 2, "nothing is overwritten");
    assert_eq!(ask(&["export", "--as", "bundle"]).code, 2);
    assert_eq!(ask(&["export", "--as", "bundle", "run:run_none"]).code, 7);
}

#[test]
fn a_bundle_is_signed_beside_itself() {
    let folder = Folder::new();
    let key = folder.arg("key.json");
    let script = "weaver=$1; shift; printf 'correct horse battery\\n' > \"$1\"; \
                  exec 9<\"$1\"; shift; exec \"$weaver\" \"$@\" --passphrase-fd 9";
    let sealed = |args: &[&str]| {
        let pass = folder.arg("pass");
        let mut all = vec!["-c", script, "sh", env!("CARGO_BIN_EXE_weaver"), &pass];
        all.extend(args);
        let out = Command::new("sh").args(&all).output().unwrap();
        assert!(out.status.success(), "{out:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    sealed(&["keys", "new", "--out", &key, "--id", "auditor"]);
    let run =
        events(&["list", "event:run.started", "--json"])[0]["run"].as_str().unwrap().to_owned();
    let (out, terms) = (folder.arg("run.json"), format!("run:{run}"));
    let store = demo().1.to_str().unwrap();
    sealed(&[
        "trace", "export", "--store", store, "--as", "bundle", &terms, "--out", &out, "--key", &key,
    ]);
    let bytes = fs::read(&out).unwrap();
    let envelope = Envelope::parse(&fs::read(format!("{out}.sig")).unwrap()).unwrap();
    let public = weaver_gateway::secret::KeyFile::read(folder.path("key.json").as_path()).unwrap();
    let digest = DocumentKind::Bundle.digest(bytes.strip_suffix(b"\n").unwrap());
    envelope.verify(DocumentKind::Bundle, digest, public.public()).unwrap();
    let other = DocumentKind::Bundle.digest(b"{}");
    assert!(envelope.verify(DocumentKind::Bundle, other, public.public()).is_err());
    assert_eq!(ask(&["export", "--as", "csv", "--out", &folder.arg("x"), "--key", &key]).code, 2);
}

#[test]
fn a_session_a_user_and_an_agent_are_found_by_every_verb_that_takes_terms() {
    let folder = Folder::new();
    let ledger = SqliteLedger::open(folder.path("ledger.db"), OpenOptions::default()).unwrap();
    for (session, user, agent) in
        [("sess_a", "u1", "planner"), ("sess_b", "u1", "writer"), ("sess_b", "u2", "planner")]
    {
        let payload = serde_json::json!({
            "principal": "ann", "run_agent": agent, "session_id": session, "user_sid": user,
        });
        let event = NewEvent {
            kind: EventKind::RunStarted,
            at: Timestamp::from_micros(1_700_000_000_000_000),
            run: weaver_types::RunId::parse(format!("run_{session}_{user}")).ok(),
            call: None,
            payload: payload.to_string().into_bytes().into(),
        };
        ledger.commit(Batch::new(Durability::Disk).with_event(event)).wait().unwrap();
    }
    drop(ledger);
    let store = folder.arg("ledger.db");
    let lines = |args: &[&str]| {
        let mut all = vec!["trace"];
        all.extend(args);
        all.extend(["--store", &store]);
        let run = weaver(&all);
        assert_eq!(run.code, 0, "{run:?}");
        run.out.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    for (terms, wanted) in [
        (&["session:sess_b"][..], 2),
        (&["session:sess_*"], 3),
        (&["user_sid:u1"], 2),
        (&["agent:planner"], 2),
        (&["session:sess_b", "agent:planner"], 1),
        (&["session:nowhere"], 0),
    ] {
        let with = |verb: &[&str]| {
            let mut args = verb.to_vec();
            args.extend(terms);
            lines(&args)
        };
        let runs = with(&["export", "--as", "runs"]);
        assert_eq!(runs.len(), wanted, "{terms:?}: {runs:?}");
        for verb in
            [&["list", "--json"][..], &["list", "--json", "--no-index"], &["tail", "--json"]]
        {
            assert_eq!(with(verb).len(), wanted, "{verb:?} {terms:?}");
        }
    }
    let runs = lines(&["export", "--as", "runs", "user_sid:u2"]);
    let record: Value = serde_json::from_str(&runs[0]).unwrap();
    assert_eq!((&record["session_id"], &record["user_sid"]), (&"sess_b".into(), &"u2".into()));
    assert_eq!(record["agent_id"], "planner");
}

/// What others wrote must not steer the terminal of whoever reads it.
#[test]
fn texts_of_others_are_shown_escaped() {
    let folder = Folder::new();
    let ledger = SqliteLedger::open(folder.path("ledger.db"), OpenOptions::default()).unwrap();
    let evil = "\u{1b}[2J\u{202e}evil\u{7}";
    let payload = serde_json::json!({
        "capability": "files.read", "principal": "ann", "verdict": "deny",
        "reason": evil, "goal": evil, "request": evil,
        "checks": [{ "check": evil, "verdict": "deny", "reason": evil, "detail": evil }],
    });
    let event = NewEvent {
        kind: EventKind::Refused,
        at: Timestamp::from_micros(1_700_000_000_000_000),
        run: None,
        call: Some(CallId::parse("call_1").unwrap()),
        payload: payload.to_string().into_bytes().into(),
    };
    ledger.commit(Batch::new(Durability::Disk).with_event(event)).wait().unwrap();
    drop(ledger);
    let store = folder.arg("ledger.db");
    for args in [&["list"][..], &["show", "0"], &["why", "call_1"], &["stats"], &["tail"]] {
        let mut all = vec!["trace"];
        all.extend(args);
        all.extend(["--store", &store]);
        let run = weaver(&all);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.out.contains("evil") || args[0] == "tail", "{run:?}");
        let steering = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!run.out.chars().any(steering), "{args:?}: {:?}", run.out);
    }
}

#[test]
fn tail_follows_what_is_appended() {
    let folder = Folder::new();
    let ledger = SqliteLedger::open(folder.path("ledger.db"), OpenOptions::default()).unwrap();
    let add = |from: u64, to: u64| {
        for n in from..to {
            let kind = if n % 2 == 0 { EventKind::Refused } else { EventKind::Outcome };
            let at = Timestamp::from_micros(1_700_000_000_000_000);
            let payload = format!("{{\"note\":\"needle{n}\"}}").into_bytes();
            let event = NewEvent { kind, at, run: None, call: None, payload: payload.into() };
            ledger.commit(Batch::new(Durability::Os).with_event(event)).wait().unwrap();
        }
    };
    add(0, 6);
    let store = folder.arg("ledger.db");
    let mut child = Command::new(env!("CARGO_BIN_EXE_weaver"))
        .args([
            "trace", "tail", "--store", &store, "-n", "2", "--follow", "--json",
            "event:call.refused",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || {
        let line = lines.next().unwrap().unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["seq"].as_u64().unwrap()
    };
    assert_eq!([next(), next()], [2, 4]);
    add(6, 11);
    assert_eq!([next(), next(), next()], [6, 8, 10]);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_ledger_that_is_not_there_is_said_so() {
    let folder = Folder::new();
    let store = folder.arg("none.db");
    for args in [
        &["list"][..],
        &["why", "1"],
        &["stats"],
        &["tail"],
        &["index"],
        &["export", "--as", "csv"],
    ] {
        let mut all = vec!["trace"];
        all.extend(args);
        all.extend(["--store", &store]);
        let run = weaver_with(&all, "");
        assert!(run.code == 4 && run.err.contains("none.db"), "{run:?}");
    }
    let left: BTreeSet<_> =
        fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("none.db")), "{left:?}");
}
