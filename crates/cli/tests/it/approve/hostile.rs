//! What a requester, or somebody with a hand on the ledger, may try on an approver.

use serde_json::{Value, json};
use weaver_agent_kernel::SignedFileOutcome;
use weaver_types::ledger::Namespace;

use super::desk::{Desk, failed, lines};
use crate::support::Run;

/// Clears a screen, hides text, turns it around, and says something else.
const TRICK: &str = "safe\u{1b}[2J\u{1b}[1;1Hrun unit tests\r\u{202e}esrever\u{2066}\u{200b}\u{e0041}\u{9b}31m\u{7f}\u{ad}";

fn is_visible(run: &Run) {
    assert_eq!(run.code, 0, "{run:?}");
    let hidden = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{2069}' | '\u{e0000}'..='\u{e0fff}')
    };
    let found: Vec<char> = run.out.chars().filter(|c| hidden(*c)).collect();
    assert!(found.is_empty(), "{found:?} in {}", run.out);
}

#[test]
fn arguments_that_hide_are_shown_escaped_and_signed_as_they_are() {
    let desk = Desk::new();
    let arguments = json!({ "branch": TRICK, TRICK: [TRICK] });
    let request = desk.held("repo.push", &arguments);
    let shown = desk.approve(&["show", &request]);
    is_visible(&shown);
    for part in ["\\u{1b}[2J", "\\u{202e}esrever", "\\u{200b}", "\\u{e0041}", "\\u{9b}31m"] {
        assert!(shown.out.matches(part).count() >= 3, "{part}: {}", shown.out);
    }
    for args in [&["show", &request, "--json"][..], &["list"], &["list", "--json"]] {
        is_visible(&desk.approve(args));
    }
    let whole = desk.approve(&["show", &request, "--json"]).json();
    assert_eq!(whole["request"]["arguments"], arguments, "exact for a script");
    let digest = whole["digest"].as_str().unwrap().to_owned();
    assert!(shown.out.ends_with(&format!("digest: {digest}\n")), "{}", shown.out);
    let granted = desk.signed("alice", &["grant", &request, "--digest", &digest]);
    assert_eq!(granted.json()["digest"], json!(digest));
    assert!(matches!(desk.deliver()[..], [SignedFileOutcome::Granted { .. }]));
}

#[test]
fn a_reason_that_hides_is_shown_escaped() {
    let desk = Desk::new();
    let request = desk.push();
    assert_eq!(desk.signed("alice", &["deny", &request, "--reason", TRICK]).code, 0);
    desk.deliver();
    for args in [&["list", "--all"][..], &["list", "--all", "--json"], &["show", &request]] {
        is_visible(&desk.approve(args));
    }
}

#[test]
fn a_long_argument_is_shown_whole() {
    let desk = Desk::new();
    let long = "x".repeat(100_000);
    let request = desk.held("repo.push", &json!({ "branch": format!("{long}END") }));
    assert!(desk.approve(&["show", &request]).out.contains(&format!("{long}END")));
}

#[test]
fn a_planted_request_is_shown_and_its_grant_releases_nothing() {
    let desk = Desk::new();
    let request = desk.push();
    let planted = "apr_ffffffffffffffffffffffffffffffff";
    let mut record = desk.record(&request);
    let open = &mut record["hold"]["open"];
    open["request"]["id"] = json!(planted);
    open["state"]["request"] = json!(planted);
    open["request"]["arguments"] = json!({ "branch": "run unit tests" });
    desk.plant(Namespace::Hold, planted, record.to_string().as_bytes());
    let listed = lines(&desk.approve(&["list", "--json"]));
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert!(desk.approve(&["show", planted]).out.contains("run unit tests"));
    assert_eq!(desk.signed("alice", &["grant", planted]).code, 0);
    let received = desk.deliver();
    assert!(matches!(received[..], [SignedFileOutcome::Rejected { .. }]), "{received:?}");
    assert!(!desk.goes_through("repo.push", &json!({ "branch": "main" })));
    assert!(!desk.goes_through("repo.push", &json!({ "branch": "run unit tests" })));
    assert_eq!(desk.executed(), 0);
}

#[test]
fn a_request_that_names_another_log_is_not_answered() {
    let desk = Desk::new();
    let request = desk.push();
    let mut record = desk.record(&request);
    record["hold"]["open"]["request"]["log"] = json!("log_other");
    desk.plant(Namespace::Hold, &request, record.to_string().as_bytes());
    assert!(desk.approve(&["show", &request]).out.contains("another log"));
    let run = desk.signed("alice", &["grant", &request]);
    assert_eq!(failed(&run), (3, "approve.wrong_log".to_owned()));
}

#[test]
fn damaged_records_hide_no_other() {
    let desk = Desk::new();
    let request = desk.push();
    let newer = json!({ "v": 9, "hold": {} }).to_string();
    for (id, value) in [
        ("apr_0\u{202e}", "not json"),
        ("apr_1", newer.as_str()),
        ("apr_2", &desk.record(&request).to_string()),
    ] {
        desk.plant(Namespace::Hold, id, value.as_bytes());
    }
    let run = desk.approve(&["list", "--json"]);
    is_visible(&run);
    let statuses: Vec<Value> = lines(&run).iter().map(|line| line["status"].clone()).collect();
    assert_eq!(statuses, ["unreadable", "unreadable", "unreadable", "requested"]);
    is_visible(&desk.approve(&["list"]));
    let run = desk.signed("alice", &["grant", "apr_1"]);
    assert_eq!(failed(&run), (3, "approve.unreadable".to_owned()));
    assert_eq!(desk.signed("alice", &["grant", &request]).code, 0);
}
