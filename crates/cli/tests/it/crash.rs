//! `kill -9` of the gateway in the middle of its calls: nothing that was answered is lost, and
//! what was not finished reads "outcome unknown".
//!
//! The end of a call rides with the next commit, so a call that was answered and never followed by
//! another may read "outcome unknown" too. One that was followed by another may not: the intent of
//! a call that was sent after the answer is committed together with that end, or after it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_trace_store::{Reader, verify};

use crate::support::{Folder, HEAD, weaver};

const ROUNDS: u64 = 20;
const CALLS: u64 = 1_000;
const IN_FLIGHT: usize = 32;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("files/notes/welcome.md", "hello");
    folder.write("files/tickets.jsonl", "");
    let server = format!(
        "\n[mcpServers.notes]\ncommand = {:?}\nargs = [\"demo-server\", \"--root\", {:?}]\n",
        env!("CARGO_BIN_EXE_weaver"),
        folder.arg("files")
    );
    let config = std::fs::read_to_string(folder.path("weaver.toml")).unwrap();
    let (head, _) = config.split_once("[mcpServers").unwrap();
    folder.write("weaver.toml", &format!("{head}{server}"));
    folder.write(
        "policy/policy.toml",
        &format!(
            "kind = \"policy\"\n{HEAD}\n[principals.owner]\nroles = [\"writer\"]\n\n[[rules]]\nname = \"all\"\n\
             match = {{ capability = \"notes.*\" }}\neffect = \"allow\"\nreason = \"a test\"\n"
        ),
    );
    folder.write(
        "policy/contracts.toml",
        &format!(
            "kind = \"contracts\"\n{HEAD}\n[capabilities.\"notes.list_notes\"]\neffects = \"read_local\"\n\n\
             [capabilities.\"notes.write_note\"]\neffects = \"write_local\"\nsink = \"none\"\n"
        ),
    );
    folder.sign("policy");
    folder.sign("contracts");
    folder
}

fn start(folder: &Folder) -> Child {
    Command::new(env!("CARGO_BIN_EXE_weaver"))
        .args(["serve", "--standalone", "--config", &folder.arg("weaver.toml")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn request(id: u64, method: &str, params: Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

fn initialize() -> String {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    request(0, "initialize", params)
}

/// Every third call writes, the others read.
fn call(n: u64) -> String {
    let inner = if n.is_multiple_of(3) {
        json!({ "capability": "notes.write_note", "arguments": { "name": format!("n{}", n % 7), "text": "x" } })
    } else {
        json!({ "capability": "notes.list_notes" })
    };
    request(n, "tools/call", json!({ "name": "tool_execute", "arguments": inner }))
}

/// A line of the gateway.
struct Line {
    /// The number of the request it answers; 0 for every other line.
    request: u64,
    /// The call that it answers with an executed result.
    call: Option<String>,
}

impl Line {
    fn read(text: &str) -> Self {
        let message: Value = serde_json::from_str(text).unwrap_or_default();
        let meta = &message["result"]["_meta"];
        let call = meta["weaver/call"].as_str().filter(|_| meta["weaver/verdict"] == "allow");
        Self { request: message["id"].as_u64().unwrap_or(0), call: call.map(str::to_owned) }
    }
}

/// What a client was told before the gateway was killed, in order.
struct KilledRound {
    lines: Vec<Line>,
}

impl KilledRound {
    fn answered(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| line.call.as_deref())
    }

    /// Answered calls after whose answers another was sent that was answered too.
    fn followed(&self) -> impl Iterator<Item = &str> {
        let last = self.lines.iter().filter(|line| line.call.is_some()).map(|line| line.request);
        let last = usize::try_from(last.max().unwrap_or(0)).unwrap();
        // The request of this number was sent once all but `IN_FLIGHT` as many lines were there.
        let before = last.saturating_sub(IN_FLIGHT).min(self.lines.len());
        self.lines[..before].iter().filter_map(|line| line.call.as_deref())
    }
}

/// Sends 1,000 calls and kills the gateway after `kill_after` answers.
fn killed_round(folder: &Folder, kill_after: usize) -> KilledRound {
    let mut child = start(folder);
    let mut stdin = child.stdin.take().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (tell, told) = mpsc::channel();
    // At most so many calls are under way: each answer allows another.
    let (credit, credits) = mpsc::channel();
    (0..IN_FLIGHT).for_each(|_| credit.send(()).unwrap());
    let reader = std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            let _ = credit.send(());
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(initialize().as_bytes());
        for n in 1..=CALLS {
            if credits.recv().is_err() || stdin.write_all(call(n).as_bytes()).is_err() {
                return None;
            }
        }
        // Kept open: the end is the kill, not the end of input.
        Some(stdin)
    });
    let mut lines = Vec::new();
    while lines.len() <= kill_after {
        let line = told.recv_timeout(Duration::from_secs(60)).expect("the gateway answers");
        lines.push(Line::read(&line));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What was in the pipe before the kill was answered too.
    while let Ok(line) = told.recv_timeout(Duration::from_secs(5)) {
        lines.push(Line::read(&line));
    }
    reader.join().unwrap();
    drop(writer.join().unwrap());
    KilledRound { lines }
}

/// Ends every call that a killed gateway left open, by starting it once more.
fn recover(folder: &Folder) {
    let mut child = start(folder);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(initialize().as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("serverInfo"), "{line}");
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn killed_in_mid_call_twenty_times_nothing_answered_is_lost() {
    let folder = folder();
    let rounds: Vec<KilledRound> = (0..ROUNDS)
        .map(|round| usize::try_from(20 + (round * 7919) % 400).unwrap())
        .map(|kill_after| killed_round(&folder, kill_after))
        .collect();
    recover(&folder);

    let store = folder.arg(".weaver/ledger.db");
    let checked = weaver(&["trace", "verify", "--store", &store]);
    assert_eq!(checked.code, 0, "{checked:?}");
    let reader = Reader::open(&store).unwrap();
    let report = verify::verify(&reader, None).unwrap();
    assert_eq!(report.head.size, reader.head().unwrap().size);

    let ends = ends(&reader);
    let (mut answered, mut followed) = (0, 0);
    for call in rounds.iter().flat_map(KilledRound::answered) {
        answered += 1;
        assert!(ends.contains_key(call), "{call} was answered");
    }
    for call in rounds.iter().flat_map(KilledRound::followed) {
        followed += 1;
        let end = ends.get(call).map(String::as_str);
        assert_eq!(end, Some("call.outcome"), "{call} was answered, and another after it");
    }
    let open = ends.values().filter(|end| end.is_empty()).count();
    assert_eq!(open, 0, "every call that was begun has an end");
    let unknown = ends.values().filter(|end| *end == "call.outcome_unknown").count();
    println!(
        "{} calls begun, {answered} answered, {followed} of them followed by another, \
         {unknown} ended unknown",
        ends.len()
    );
    assert!(followed > answered / 2, "most answers are followed by another call");
    assert!(unknown > 0, "twenty kills in mid-call leave some call unfinished");
}

/// How each call that was begun ended, by the log; empty for one without an end.
fn ends(reader: &Reader) -> BTreeMap<String, String> {
    let mut ends = BTreeMap::new();
    let mut from = 0;
    loop {
        let page = reader.events(from, 1_000).unwrap();
        let Some(last) = page.last() else { return ends };
        from = last.seq + 1;
        for event in &page {
            let header: Value = serde_json::from_slice(&event.header).unwrap();
            let (Some(call), Some(kind)) = (header["call"].as_str(), header["type"].as_str())
            else {
                continue;
            };
            match kind {
                "call.intent" => {
                    assert!(ends.insert(call.to_owned(), String::new()).is_none(), "begun twice")
                }
                "call.outcome" | "call.outcome_unknown" => {
                    let end = ends.get_mut(call).expect("an intent stands before its end");
                    assert!(end.is_empty(), "{call} ended twice");
                    kind.clone_into(end);
                }
                _ => {}
            }
        }
    }
}
