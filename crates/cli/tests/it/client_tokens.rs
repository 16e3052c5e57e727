//! Tokens of clients over HTTP: what the log and the metrics tell of them, and how they are replaced.

use std::fs;

use serde_json::{Value, json};

use crate::client::{events, initialize};
use crate::http::{Answer, Web, people, request};
use crate::support::{Run, until, weaver};

fn clients(web: &Web, words: &[&str]) -> Run {
    let run = web.weaver(&[&["clients"], words].concat());
    assert_eq!(run.code, 0, "{run:?}");
    run
}

fn token(run: &Run) -> String {
    run.out.trim().to_owned()
}

/// Posts a message with a token, in a session if one is open.
pub(crate) fn post(web: &Web, token: &str, session: Option<&str>, message: &Value) -> Answer {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    headers.extend(session.map(|id| ("mcp-session-id", id)));
    web.send("POST", "/mcp", &headers, &message.to_string())
}

/// Opens a session and gives its id.
fn open(web: &Web, token: &str) -> String {
    let opened = post(web, token, None, &request(1, "initialize", initialize()));
    assert_eq!(opened.status, 200, "{opened:?}");
    opened.headers["mcp-session-id"].clone()
}

fn status(web: &Web, token: &str) -> u16 {
    post(web, token, None, &request(1, "initialize", initialize())).status
}

/// What the log tells of clients: kind and fields.
fn told(web: &Web) -> Vec<(String, Value)> {
    let all = events(web.folder()).into_iter().filter(|(kind, _)| kind.starts_with("client."));
    all.map(|(kind, payload)| (kind, payload["fields"].clone())).collect()
}

fn removals(web: &Web) -> usize {
    told(web).iter().filter(|(kind, _)| kind == "client.removed").count()
}

fn daemon_log(web: &Web) -> String {
    web.weaver(&["logs"]).out
}

/// An audit: who had a token, who made it, who took it back, long after it is gone.
#[test]
fn the_log_tells_who_had_a_token_and_who_took_it_back() {
    let web = Web::new("");
    let added = token(&clients(&web, &["add", "laptop", "--days", "30"]));
    until("the addition", || told(&web).iter().any(|(_, fields)| fields["name"] == "laptop"));
    clients(&web, &["remove", "laptop"]);
    until("the removal", || told(&web).iter().any(|(kind, _)| kind == "client.removed"));
    let told: Vec<_> =
        told(&web).into_iter().filter(|(_, fields)| fields["name"] == "laptop").collect();
    let kinds: Vec<_> = told.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["client.added", "client.removed"], "once each: {told:?}");
    for (_, fields) in &told {
        assert_eq!(fields["principal"], "owner", "{fields}");
        assert!(fields["by"].as_str().unwrap().contains("uid "), "{fields}");
        assert!(fields["expires"].is_string() && fields["id"] == told[0].1["id"], "{fields}");
    }
    let everything = json!(events(web.folder())).to_string();
    assert!(!everything.contains(&added) && !everything.contains(added.get(..30).unwrap()));
    // What happens while no daemon runs is told by the next.
    assert_eq!(web.weaver(&["stop"]).code, 0);
    clients(&web, &["add", "tablet"]);
    web.client().finish();
    assert!(json!(self::told(&web)).to_string().contains("tablet"));
    let ended = events(web.folder()).into_iter().find(|(kind, _)| kind == "gateway.ended");
    let (_, ended) = ended.expect("the stop is in the log");
    assert_eq!(ended["fields"]["reason"], "stopped by a command", "{ended}");
}

/// A token is replaced without a moment in which its client cannot come, and without the end of its
/// session.
#[test]
fn a_token_is_replaced_with_an_overlap_in_which_sessions_go_on() {
    let web = Web::new("");
    let first = token(&clients(&web, &["add", "laptop"]));
    let session = open(&web, &first);
    let second = token(&clients(&web, &["rotate", "laptop", "--overlap", "1h"]));
    assert_ne!(first, second);
    let ping = request(2, "ping", json!({}));
    for token in [&first, &second, &first] {
        let answer = post(&web, token, Some(&session), &ping);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let listed = clients(&web, &["list"]);
    assert!(listed.out.contains("its former token is good until"), "{listed:?}");
    until("the replacement", || told(&web).iter().any(|(kind, _)| kind == "client.rotated"));
    // A token that somebody else may have is replaced at once.
    let third = token(&clients(&web, &["rotate", "laptop", "--overlap", "0s"]));
    assert_eq!([&first, &second, &third].map(|token| status(&web, token)), [401, 401, 200]);
    assert_eq!(post(&web, &third, Some(&session), &ping).status, 404, "the session is over");
    let unknown = web.weaver(&["clients", "rotate", "nobody"]);
    assert_ne!(unknown.code, 0, "{unknown:?}");
}

/// A leaked token that is in use, a team that is locked out, and somebody who guesses are told apart.
#[test]
fn refused_requests_are_counted_by_reason_and_logged_with_who_sent_them() {
    let web = Web::new("");
    let removed = token(&clients(&web, &["add", "leaked"]));
    let replaced = token(&clients(&web, &["add", "laptop"]));
    clients(&web, &["remove", "leaked"]);
    clients(&web, &["rotate", "laptop", "--overlap", "0s"]);
    for _ in 0..20 {
        assert_eq!(status(&web, "weaver_made_up"), 401);
    }
    assert_eq!([&removed, &replaced].map(|token| status(&web, token)), [401, 401]);
    assert_eq!(web.send("GET", "/metrics", &[], "").status, 401);
    assert_eq!(web.send("GET", "/healthz", &[("host", "evil.example")], "").status, 403);
    let metrics = web.get("/metrics");
    for (reason, count) in [
        ("unknown_token", 20),
        ("removed_token", 1),
        ("expired_token", 1),
        ("no_token", 1),
        ("host", 1),
        ("origin", 0),
    ] {
        let line = format!("weaver_http_refused_total{{reason=\"{reason}\"}} {count}");
        assert!(metrics.lines().any(|told| told == line), "{line}: {metrics}");
    }
    let log = daemon_log(&web);
    let lines = |word: &str| {
        let refused = log.lines().filter(|line| line.contains("a request over HTTP was refused"));
        refused.filter(|line| line.contains(word)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines("unknown_token").len(), 1, "a flood is one line: {log}");
    assert!(lines("unknown_token")[0].contains("127.0.0.1:"), "{log}");
    assert!(lines("removed_token")[0].contains("leaked"), "{log}");
    assert!(lines("expired_token")[0].contains("laptop"), "{log}");
    assert!(!log.contains("made_up") && !log.contains(&removed), "no token: {log}");
}

/// Restoring a backup must not let in whoever was shut out since.
#[test]
fn a_removed_token_does_not_come_back_with_an_older_file_of_clients() {
    let mut web = Web::new("");
    let leaked = token(&clients(&web, &["add", "leaked"]));
    let other = token(&clients(&web, &["add", "other"]));
    assert_eq!(status(&web, &leaked), 200);
    let file = web.folder().path(".weaver/ledger.db.clients.json");
    let backup = fs::read(&file).unwrap();
    clients(&web, &["remove", "leaked"]);
    until("the removal", || removals(&web) == 1);
    assert_eq!(web.weaver(&["stop"]).code, 0);
    fs::write(&file, &backup).unwrap();
    let mut shim = web.client();
    web.find_again();
    assert_eq!([&leaked, &other].map(|token| status(&web, token)), [401, 200]);
    assert_eq!(removals(&web), 2, "the log tells it");
    assert!(daemon_log(&web).contains("the log has its removal"), "{}", daemon_log(&web));
    assert!(!clients(&web, &["list"]).out.contains("leaked"));
    // The same while the daemon runs.
    fs::write(&file, &backup).unwrap();
    until("it is refused", || status(&web, &leaked) == 401);
    assert_eq!(status(&web, &other), 200);
    assert!(!shim.execute("good.people", json!({})).0);
    shim.finish();
}

/// Twelve tokens that were made on one day end on one day.
#[test]
fn a_token_that_ends_soon_is_announced() {
    let web = Web::new("");
    clients(&web, &["add", "brief", "--days", "3"]);
    let listed = clients(&web, &["list"]).out;
    let line = |name: &str| listed.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("brief").contains("ends in"), "{listed}");
    assert!(!line("desk").contains("ends in"), "{listed}");
    let doctor = web.weaver(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let found: Vec<_> = checks.iter().filter(|check| check["subject"] == "tokens").collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["health"], "notable", "{found:?}");
    let next = found[0]["next"].as_str().unwrap();
    assert!(next.contains("weaver clients rotate brief"), "{next}");
    let metrics = web.get("/metrics");
    let left = |name: &str| -> u64 {
        let start = format!("weaver_expiry_seconds{{kind=\"client_token\",name=\"{name}\"}} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&start));
        line.unwrap_or_else(|| panic!("{name}: {metrics}")).parse().unwrap()
    };
    assert!((2 * 86_400..=3 * 86_400).contains(&left("brief")));
    assert!(left("desk") > 80 * 86_400);
}

/// What happened today, on a gateway of a team.
#[test]
fn the_calls_of_a_day_say_whose_they_are() {
    let rule = "principals.owner.roles = []\n[principals.dev1]\n\n[[rules]]\nname = \"reads\"\n\
                match = { effects = { impact = \"read\" } }\neffect = \"allow\"\nreason = \"r\"\n";
    let web = Web::prepared("good", "", Some(rule));
    let laptop = token(&clients(&web, &["add", "laptop", "--principal", "dev1"]));
    let tablet = token(&clients(&web, &["add", "tablet", "--principal", "dev1"]));
    for token in [&laptop, &tablet] {
        let session = open(&web, token);
        let called = post(&web, token, Some(&session), &request(2, "tools/call", people()));
        assert_eq!(called.status, 200, "{called:?}");
    }
    let mut own = web.client();
    assert!(!own.execute("good.people", json!({})).0);
    own.finish();
    let store = web.folder().arg(".weaver/ledger.db");
    let today = weaver(&["trace", "--store", &store]);
    assert_eq!(today.code, 0, "{today:?}");
    let calls: Vec<&str> = today.out.lines().filter(|line| line.contains("good.people")).collect();
    assert_eq!(calls.len(), 3, "{}", today.out);
    assert!(calls[0].contains("dev1 (token laptop"), "{}", today.out);
    assert!(calls[1].contains("dev1 (token tablet"), "{}", today.out);
    assert!(calls[2].contains("owner"), "{}", today.out);
    let calls = weaver(&["trace", "--store", &store, "--json"]);
    let first: Value = serde_json::from_str(calls.out.lines().next().unwrap()).unwrap();
    assert_eq!((&first["principal"], &first["token"]), (&json!("dev1"), &json!("laptop")));
    let id = first["call"].as_str().unwrap();
    let why = weaver(&["trace", "why", id, "--store", &store]);
    assert!(why.out.contains("the run of dev1 (client token laptop)"), "{why:?}");
}
