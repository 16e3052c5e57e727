//! Whether a gateway over HTTP says that it is ready, while its ledger or its servers are not.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::http::{Answer, Web};
use crate::support::until_found;

/// Sets the largest file that the daemon may write; false where no program can.
fn limit_files(web: &Web, size: &str) -> bool {
    let status = web.weaver(&["status", "--json"]).json();
    let set = Command::new("prlimit")
        .args([&format!("--fsize={size}:unlimited"), "--pid", &status["pid"].to_string()])
        .status();
    set.is_ok_and(|status| status.success())
}

/// Waits until the answer is this one.
fn becomes(web: &Web, status: u16, words: &str) -> Answer {
    until_found(words, || {
        let answer = web.look("/readyz");
        (answer.status == status && answer.body.contains(words)).then_some(answer)
    })
}

#[test]
fn a_gateway_whose_disk_is_full_is_not_ready_until_there_is_room_again() {
    let web = Web::new("");
    let mut client = web.client();
    assert!(!client.execute("good.people", json!({})).0);
    assert_eq!(becomes(&web, 200, "ready").body, "ready\n");
    if !limit_files(&web, "1024") {
        println!("SKIPPED: prlimit is missing here");
        return;
    }
    // It is noticed before any call is.
    let refused = web.look("/readyz");
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.body.starts_with("not ready: the ledger is full for now"), "{refused:?}");
    let (verdict, reason) = client.refusal("good.people", json!({}));
    assert_eq!((verdict.as_str(), reason.as_str()), ("deny", "ledger_unavailable"));
    assert_eq!(web.look("/healthz").status, 200, "the process runs");
    assert!(limit_files(&web, "unlimited"));
    becomes(&web, 200, "ready");
    assert!(!client.execute("good.people", json!({})).0);
    client.end();
}

#[test]
fn a_gateway_whose_ledger_is_closed_is_not_ready() {
    let web = Web::new("");
    becomes(&web, 200, "ready");
    let ledger = web.folder().path(".weaver/ledger.db");
    fs::rename(&ledger, ledger.with_extension("away")).unwrap();
    // Files are looked at ten times a second.
    becomes(&web, 503, "not ready: the ledger");
    fs::rename(ledger.with_extension("away"), &ledger).unwrap();
    assert_eq!(web.look("/readyz").status, 503, "it is opened again by a new process alone");
}

#[test]
fn a_gateway_whose_servers_are_away_is_ready_and_says_how_many() {
    let web = Web::with("absent", "");
    assert_eq!(becomes(&web, 200, "1 server").body, "ready; 1 server is away\n");
}
