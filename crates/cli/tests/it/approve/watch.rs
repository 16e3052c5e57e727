//! `weaver approve watch`, and the question on the terminal.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use weaver_types::ledger::Namespace;

use super::desk::{Desk, PASSPHRASE, lines};

/// A command that tells of requests until its pipe is closed.
fn watching(desk: &Desk) -> Child {
    Command::new(env!("CARGO_BIN_EXE_weaver"))
        .args(["approve", "watch", "--json", "--config", &desk.folder.arg("weaver.toml")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The request that the next line tells of, and what is new about it.
fn next_news(out: &mut impl BufRead) -> (String, String) {
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let value: Value = serde_json::from_str(&line).unwrap();
    (value["id"].as_str().unwrap().to_owned(), value["news"].as_str().unwrap().to_owned())
}

/// The command line that grants a request and tells how it ended.
fn grant_command(desk: &Desk, request: &str) -> String {
    desk.folder.write("passphrase", PASSPHRASE);
    format!(
        "{} approve grant {request} --config {} --key {} --passphrase-fd 3 3<{}; echo exit $?",
        env!("CARGO_BIN_EXE_weaver"),
        desk.folder.arg("weaver.toml"),
        desk.folder.arg("alice.key"),
        desk.folder.arg("passphrase"),
    )
}

#[test]
fn one_look_prints_what_waits() {
    let desk = Desk::new();
    assert_eq!(desk.approve(&["watch", "--once", "--json"]).out, "");
    let request = desk.push();
    let seen = lines(&desk.approve(&["watch", "--once", "--json"]));
    assert_eq!((seen.len(), &seen[0]["id"], &seen[0]["news"]), (1, &json!(request), &json!("new")));
    let text = desk.approve(&["watch", "--once"]).out;
    assert!(text.starts_with(&format!("new {request}")), "{text}");
}

#[test]
fn requests_are_told_as_they_appear_and_end_and_a_closed_pipe_ends_it() {
    let desk = Desk::new();
    let mut child = watching(&desk);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut told = || next_news(&mut out);
    let request = desk.held("pay.send", &json!({ "amount": 1 }));
    let said = |news: &str| (request.clone(), news.to_owned());
    assert_eq!(told(), said("new"));
    for (who, news) in [("alice", "agreed"), ("bob", "granted")] {
        assert_eq!(desk.signed(who, &["grant", &request]).code, 0);
        desk.deliver();
        assert_eq!(told(), said(news));
    }
    assert!(desk.goes_through("pay.send", &json!({ "amount": 1 })));
    assert_eq!(told(), said("consumed"));
    // Nothing more is written: the closed pipe alone ends it.
    drop(out);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_request_that_opens_and_ends_between_two_polls_is_told() {
    let desk = Desk::new();
    let mut child = watching(&desk);
    let pid = child.id().to_string();
    let signal = |signal: &str| {
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    };
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut told = || next_news(&mut out);
    let first = desk.held("pay.send", &json!({ "amount": 1 }));
    assert_eq!(told(), (first, "new".to_owned()));
    // While it is stopped it polls nothing.
    signal("-STOP");
    let short = desk.held("pay.send", &json!({ "amount": 2 }));
    for who in ["alice", "bob"] {
        assert_eq!(desk.signed(who, &["grant", &short]).code, 0);
        desk.deliver();
    }
    assert!(desk.goes_through("pay.send", &json!({ "amount": 2 })));
    let last = desk.held("pay.send", &json!({ "amount": 3 }));
    signal("-CONT");
    let mut news = [told(), told()];
    news.sort();
    let mut wanted = [(short, "consumed".to_owned()), (last, "new".to_owned())];
    wanted.sort();
    assert_eq!(news, wanted);
    drop(out);
    assert!(child.wait().unwrap().success());
}

/// Runs a command on a terminal of its own, on which these lines are typed.
fn on_a_terminal(command: &str, typed: &str) -> String {
    let mut child = Command::new("script")
        .args(["-qec", command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn only_a_yes_on_the_terminal_is_a_yes() {
    let desk = Desk::new();
    let request = desk.push();
    let command = grant_command(&desk, &request);
    for answer in ["no\n", "y\nno\n", "y\ny\n", "\n", "yes please\n"] {
        let out = on_a_terminal(&command, answer);
        assert!(out.contains("exit 10") && out.contains("approve.declined"), "{answer:?}: {out}");
    }
    assert_eq!(desk.inbox().len(), 0);
    let elsewhere = command.replace("; echo", " >/dev/null; echo");
    let out = on_a_terminal(&elsewhere, "no\n");
    assert!(out.contains("digest: sha256:"), "whoever is asked sees it: {out}");
    let out = on_a_terminal(&command, "y\nyes\n");
    assert!(
        out.contains("In full") && out.contains("exit 0") && out.contains("digest: sha256:"),
        "{out}"
    );
    assert_eq!(desk.inbox().len(), 1);
}

#[test]
fn a_request_that_changes_under_the_eyes_of_its_reader_is_not_signed() {
    let desk = Desk::new();
    let request = desk.push();
    let command = grant_command(&desk, &request);
    let mut child = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"Type yes: ") {
        let mut byte = [0];
        out.read_exact(&mut byte).unwrap();
        seen.extend(byte);
    }
    let mut record = desk.record(&request);
    record["hold"]["open"]["request"]["arguments"] = json!({ "branch": "production" });
    desk.plant(Namespace::Hold, &request, record.to_string().as_bytes());
    child.stdin.take().unwrap().write_all(b"yes\n").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    child.wait().unwrap();
    assert!(rest.contains("exit 3") && rest.contains("approve.request_changed"), "{rest}");
    assert_eq!(desk.inbox().len(), 0);
}

#[test]
fn without_a_terminal_nothing_is_assumed() {
    let desk = Desk::new();
    let request = desk.push();
    let out = Command::new("setsid")
        .arg("--wait")
        .arg(env!("CARGO_BIN_EXE_weaver"))
        .args(["approve", "grant", &request, "--passphrase-fd", "0", "--config"])
        .arg(desk.folder.arg("weaver.toml"))
        .arg("--key")
        .arg(desk.folder.arg("alice.key"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let error = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.code() == Some(2) && error.contains("approve.no_terminal"), "{error}");
    assert_eq!(desk.inbox().len(), 0);
}
