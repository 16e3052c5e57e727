//! `weaver approve` on the ledger of a real kernel, through to the call that goes through.

mod desk;
mod feedback;
mod gateway;
mod hostile;
mod operator;
mod standing;
mod watch;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weaver_agent_kernel::SignedFileOutcome;
use weaver_types::ledger::Namespace;
use weaver_types::{ApprovalRequestId, Clock as _, ManualClock, Timestamp};

use crate::support::{Run, mode, weaver, weaver_with};
use desk::{Desk, PASSPHRASE, failed, lines, now};

fn id(text: &str) -> ApprovalRequestId {
    ApprovalRequestId::parse(text).unwrap()
}

#[test]
fn from_a_held_call_over_a_grant_to_one_execution() {
    let desk = Desk::new();
    let request = desk.push();
    let listed = lines(&desk.approve(&["list", "--json"]));
    assert_eq!((listed.len(), &listed[0]["id"]), (1, &json!(request)));
    assert_eq!(listed[0]["status"], "requested");
    assert_eq!((&listed[0]["needed"], &listed[0]["agreed"]), (&json!(1), &json!([])));

    let granted = desk.signed("alice", &["grant", &request, "--reason", "agreed"]);
    assert_eq!(granted.code, 0, "{granted:?}");
    let said = granted.json();
    assert_eq!((&said["approver"], &said["verdict"]), (&json!("alice"), &json!("granted")));
    assert_eq!(said["digest"], listed[0]["digest"], "what was listed is what was signed");
    let files = desk.inbox();
    assert_eq!(files.len(), 1, "and nothing beside it: {files:?}");
    let name = files[0].file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(&request) && name.ends_with(".json"), "{name}");
    assert_eq!(mode(&files[0]), 0o600);

    assert!(!desk.goes_through("repo.push", &json!({ "branch": "main" })));
    assert_eq!(desk.deliver(), [SignedFileOutcome::Granted { request: id(&request) }]);
    assert_eq!(lines(&desk.approve(&["list", "--json"]))[0]["status"], "granted");
    assert!(desk.goes_through("repo.push", &json!({ "branch": "main" })));
    assert_eq!(desk.executed(), 1);

    assert_eq!(desk.approve(&["list", "--json"]).out, "");
    let ended = lines(&desk.approve(&["list", "--all", "--json"]));
    assert_eq!((&ended[0]["id"], &ended[0]["status"]), (&json!(request), &json!("consumed")));
    let again = desk.signed("bob", &["grant", &request]);
    assert_eq!(failed(&again), (9, "approve.already_resolved".to_owned()));
}

#[test]
fn what_is_written_while_a_call_waits_is_shown_and_agreed_to() {
    let desk = Desk::new();
    let write = |text: &str| desk.goes_through("notes.write", &json!({ "text": text }));
    assert!(write("before"));
    let request = desk.push();
    assert!(write("while it waits"));
    let shown = desk.approve(&["show", &request]).out;
    assert!(shown.contains("the agent has also made these calls"), "{shown}");
    assert!(shown.contains("notes.write  {\"text\":\"while it waits\"}"), "{shown}");
    assert!(!shown.contains("before"), "{shown}");
    let grant = |request: &str| {
        assert_eq!(desk.signed("alice", &["grant", request]).code, 0);
        assert_eq!(desk.deliver(), [SignedFileOutcome::Granted { request: id(request) }]);
    };
    grant(&request);
    assert!(desk.goes_through("repo.push", &json!({ "branch": "main" })));

    let request = desk.push();
    assert!(!desk.approve(&["show", &request]).out.contains("since then"), "only since then");
    grant(&request);
    assert!(write("after the grant"));
    assert!(!desk.goes_through("repo.push", &json!({ "branch": "main" })), "nobody saw that");
}

#[test]
fn a_denial_ends_the_request_and_says_who_and_why() {
    let desk = Desk::new();
    let request = desk.push();
    let denied = desk.signed("alice", &["deny", &request, "--reason", "not on a Friday"]);
    assert_eq!(denied.code, 0, "{denied:?}");
    assert_eq!(desk.deliver(), [SignedFileOutcome::Denied { request: id(&request) }]);
    let shown = desk.approve(&["show", &request]);
    assert!(shown.out.contains("denied by alice: not on a Friday"), "{shown:?}");
    assert!(shown.out.contains("erased"), "{shown:?}");
}

#[test]
fn a_quorum_is_counted_by_people() {
    let desk = Desk::new();
    let request = desk.held("pay.send", &json!({ "amount": 5 }));
    let shown = desk.approve(&["show", &request]).out;
    assert!(shown.contains("2 people, trust 500, scopes finance"), "{shown}");
    assert!(shown.contains("can agree   alice, bob\n"), "neither low nor the owner: {shown}");
    assert_eq!(desk.signed("alice", &["grant", &request]).json()["agreed"], 1);
    assert_eq!(desk.deliver(), [SignedFileOutcome::Endorsed { request: id(&request) }]);
    let listed = lines(&desk.approve(&["list", "--json"]));
    assert_eq!(listed[0]["agreed"], json!(["alice"]));
    let twice = desk.signed("alice", &["grant", &request]);
    assert_eq!(failed(&twice), (9, "approve.replayed".to_owned()));
    assert!(desk.approve(&["show", &request]).out.contains("can agree   bob\n"));
    assert_eq!(desk.signed("bob", &["grant", &request]).json()["agreed"], 2);
    assert_eq!(desk.deliver(), [SignedFileOutcome::Granted { request: id(&request) }]);
}

#[test]
fn the_role_that_is_needed_is_named_and_refused_where_it_is_missing() {
    let desk = Desk::new();
    let arguments = json!({ "version": 7 });
    let request = desk.held("deploy.run", &arguments);
    let shown = desk.approve(&["show", &request]).out;
    assert!(shown.contains("role cfo or release_lead"), "{shown}");
    assert!(shown.contains("can agree   alice\n"), "{shown}");
    let refused = desk.signed("bob", &["grant", &request]);
    assert_eq!(failed(&refused), (8, "approve.role".to_owned()));
    assert!(refused.err.contains("cfo or release_lead"), "{refused:?}");
    assert_eq!(desk.inbox().len(), 0);
    assert_eq!(desk.signed("alice", &["grant", &request]).code, 0);
    assert_eq!(desk.deliver(), [SignedFileOutcome::Granted { request: id(&request) }]);
    assert!(desk.goes_through("deploy.run", &arguments));
}

#[test]
fn whoever_may_not_answer_is_told_before_anything_is_signed() {
    let desk = Desk::new();
    let (push, pay) = (desk.push(), desk.held("pay.send", &json!({ "amount": 5 })));
    for (who, request, code) in [
        ("low", &push, "approve.trust"),
        ("low", &pay, "approve.trust"),
        ("olga", &push, "approve.requester"),
        ("past", &push, "approve.key_void"),
        ("mallory", &push, "approve.unknown_approver"),
    ] {
        let run = desk.signed_with(who, &["grant", request], "wrong horse\n");
        assert_eq!(failed(&run), (8, code.to_owned()), "{who}: before the passphrase counts");
    }
    let run = desk.signed("bob", &["grant", &push, "--as", "alice"]);
    assert_eq!(failed(&run), (8, "approve.wrong_key".to_owned()));
    let run = desk.signed("alice", &["grant", "apr_none"]);
    assert_eq!(failed(&run), (7, "approve.unknown".to_owned()));
    let digest = format!("sha256:{}", "0".repeat(64));
    let run = desk.signed("alice", &["grant", &push, "--digest", &digest]);
    assert_eq!(failed(&run), (3, "approve.request_changed".to_owned()));
    assert_eq!(desk.inbox().len(), 0, "nothing was written");
}

#[test]
fn a_wrong_passphrase_writes_nothing() {
    let desk = Desk::new();
    let request = desk.push();
    let (config, key) = (desk.folder.arg("weaver.toml"), desk.folder.arg("alice.key"));
    let args = ["approve", "grant", &request, "--config", &config, "--key", &key, "--yes"];
    let run = weaver_with(&[&args[..], &["--passphrase-fd", "0"]].concat(), "wrong horse\n");
    assert_eq!((run.code, desk.inbox().len()), (6, 0), "{run:?}");
    let run = weaver_with(&[&args[..], &["--passphrase-fd", "0"]].concat(), PASSPHRASE);
    assert_eq!((run.code, desk.inbox().len()), (0, 1), "{run:?}");
    assert!(run.out.contains("digest: sha256:") && run.out.contains("granted by alice"), "{run:?}");
}

#[test]
fn the_key_that_init_made_signs_where_none_is_named() {
    let desk = Desk::new();
    let request = desk.push();
    let config = desk.folder.arg("weaver.toml");
    let args = [
        "approve", "grant", &request, "--config", &config, "--yes", "--passphrase-fd", "0",
        "--json",
    ];
    assert_eq!(failed(&weaver_with(&args, PASSPHRASE)), (2, "approve.no_key".to_owned()));
    fs::create_dir_all(desk.folder.path(".weaver/keys")).unwrap();
    fs::copy(desk.folder.path("alice.key"), desk.folder.path(".weaver/keys/owner.key")).unwrap();
    let run = weaver_with(&args, PASSPHRASE);
    assert_eq!((run.code, &run.json()["approver"]), (0, &json!("alice")), "{run:?}");
}

#[test]
fn the_beginning_of_an_id_names_its_request() {
    let desk = Desk::new();
    let request = desk.push();
    let beginning = request.get(.."apr_1".len()).unwrap();
    let shown = desk.approve(&["show", beginning, "--json"]).json();
    assert_eq!(shown["id"], json!(request), "{shown}");
    let run = desk.signed("alice", &["grant", beginning]);
    assert_eq!((run.code, &run.json()["request"]), (0, &json!(request)), "{run:?}");
    let run = desk.approve(&["show", "apr_", "--json"]);
    assert_eq!(failed(&run), (7, "approve.unknown".to_owned()));
}

#[test]
fn what_waits_is_listed_with_the_arguments_that_differ() {
    let desk = Desk::new();
    let [first, _second] = ["main", "next"]
        .map(|branch| desk.held("repo.push", &json!({ "a_note": "x", "branch": branch })));
    let listed = desk.approve(&["list"]).out;
    for branch in ["main", "next"] {
        let line = format!("    branch: \"{branch}\", a_note: \"x\"\n");
        assert!(listed.contains(&line), "{listed}");
    }
    let one = &lines(&desk.approve(&["list", "--json"]))[0];
    assert_eq!(one["arguments"]["branch"], "main", "{one}");
    // What is granted already comes after what still waits.
    desk.signed("alice", &["grant", &first]);
    desk.deliver();
    let listed = lines(&desk.approve(&["list", "--json"]));
    let status: Vec<_> =
        listed.iter().map(|one| (&one["arguments"]["branch"], &one["status"])).collect();
    assert_eq!(
        status,
        [(&json!("next"), &json!("requested")), (&json!("main"), &json!("granted"))]
    );
}

#[test]
fn several_requests_are_shown_each_and_answered_with_one_passphrase() {
    let desk = Desk::new();
    let push = |branch: &str| desk.held("repo.push", &json!({ "branch": branch }));
    let (one, two, pay) =
        (push("main"), push("next"), desk.held("pay.send", &json!({ "amount": 5 })));
    let run = desk.signed("alice", &["grant", &one, &two, &one]);
    assert_eq!(run.code, 0, "{run:?}");
    let signed: Vec<String> =
        lines(&run).iter().map(|line| line["request"].as_str().unwrap().to_owned()).collect();
    assert_eq!(signed, [one.clone(), two.clone()], "each once");
    let granted = [&one, &two].map(|request| SignedFileOutcome::Granted { request: id(request) });
    assert!(desk.deliver().iter().all(|outcome| granted.contains(outcome)));
    assert!(!desk.goes_through("repo.push", &json!({ "branch": "other" })));
    assert!(desk.goes_through("repo.push", &json!({ "branch": "main" })));
    // What a person sees before the one confirmation: each with all its arguments, why, and digest.
    let other = push("other");
    let (config, key) = (desk.folder.arg("weaver.toml"), desk.folder.arg("alice.key"));
    let args = ["approve", "grant", &other, &pay, "--config", &config, "--key", &key];
    let shown = weaver_with(&[&args[..], &["--passphrase-fd", "0", "--yes"]].concat(), PASSPHRASE);
    assert_eq!(shown.code, 0, "{shown:?}");
    for part in ["{\"branch\":\"other\"}", "{\"amount\":5}", "rule `two`", "digest: sha256:"] {
        assert!(shown.out.contains(part), "{part}: {shown:?}");
    }
    assert_eq!(desk.deliver().len(), 2);
    // One that cannot be answered keeps the others from being signed.
    let last = push("last");
    let run = desk.signed("alice", &["grant", &last, &one]);
    assert_eq!(failed(&run), (9, "approve.already_resolved".to_owned()));
    assert_eq!(desk.inbox().len(), 0);
}

#[test]
fn what_does_not_fit_a_line_is_answered_alone() {
    let desk = Desk::new();
    let long = desk.held("repo.push", &json!({ "branch": "x".repeat(2_000) }));
    let short = desk.push();
    let run = desk.signed("alice", &["grant", &long, &short]);
    assert_eq!(failed(&run), (2, "approve.too_long".to_owned()));
    assert_eq!(desk.inbox().len(), 0);
    assert_eq!(desk.signed("alice", &["grant", &long]).code, 0);
}

#[test]
fn all_that_are_shown_are_those_that_wait_and_whose_client_is_there() {
    let desk = Desk::new();
    let none = desk.signed("alice", &["grant", "--all-shown"]);
    assert_eq!(failed(&none), (7, "approve.nothing_waits".to_owned()));
    let (one, two) = (desk.push(), desk.held("repo.push", &json!({ "branch": "next" })));
    let run = desk.signed("alice", &["grant", "--all-shown"]);
    assert_eq!(run.code, 0, "{run:?}");
    let signed: Vec<serde_json::Value> =
        lines(&run).iter().map(|line| line["request"].clone()).collect();
    assert_eq!(signed, [json!(one), json!(two)]);
    assert_eq!(desk.deliver().len(), 2);
    // A client whose process has ended makes no call again.
    let third = desk.held("repo.push", &json!({ "branch": "third" }));
    let current = json!({ "v": 3, "principal": "owner", "run": desk.run.run_id, "trace_id": "0",
        "last_used": 1, "client": { "process": { "boot": "0b8f3c1e-5a5d-4c8f-9a3e-2f6d1c7b9e01",
            "namespace": 1, "pid": 4711, "started": 915022 } } });
    desk.plant(Namespace::CurrentRun, "process owner", current.to_string().as_bytes());
    let listed = desk.approve(&["list"]);
    assert!(listed.out.contains("its client has ended"), "{listed:?}");
    assert!(!listed.err.contains("weaver approve grant"), "{listed:?}");
    let listed = lines(&desk.approve(&["list", "--json"]));
    let of_third = listed.iter().find(|line| line["id"] == json!(third)).unwrap();
    assert_eq!(of_third["client_gone"], true);
    let none = desk.signed("alice", &["grant", "--all-shown"]);
    assert_eq!(failed(&none), (7, "approve.nothing_waits".to_owned()));
}

#[test]
fn the_reasons_of_a_hold_stand_above_the_request() {
    let desk = Desk::new();
    let request = desk.held("pay.send", &json!({ "amount": 5 }));
    let shown = desk.approve(&["show", &request]).out;
    let why = shown.lines().find(|line| line.starts_with("why ")).unwrap();
    assert!(why.contains("rule `two`") || why.contains("waits for a person"), "{shown}");
}

#[test]
fn what_is_past_its_deadline_takes_no_answer() {
    let before = now().micros() - 1_200_000_000;
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(before)));
    let desk = Desk::at(clock.clone());
    let request = desk.push();
    assert_eq!(desk.approve(&["list", "--json"]).out, "");
    let all = lines(&desk.approve(&["list", "--all", "--json"]));
    assert_eq!((&all[0]["status"], &all[0]["left_s"]), (&json!("expired"), &json!(0)));
    let run = desk.signed_with("alice", &["grant", &request], "wrong horse\n");
    assert_eq!(failed(&run), (9, "approve.too_late".to_owned()));
    clock.advance(Duration::from_secs(1_200));
    assert!(clock.now() >= Timestamp::from_micros(before));
}

#[test]
fn the_ledger_and_the_inbox_alone_suffice() {
    let desk = Desk::new();
    let request = desk.push();
    let (store, inbox) = (desk.folder.arg(".weaver/ledger.db"), desk.folder.arg(".weaver/inbox"));
    let listed = weaver(&["approve", "list", "--json", "--store", &store]);
    assert_eq!(lines(&listed)[0]["id"], json!(request));
    let key = desk.folder.arg("alice.key");
    let grant = |more: &[&str]| -> Run {
        let args = ["approve", "grant", &request, "--store", &store, "--key", &key, "--json"];
        let rest = ["--yes", "--passphrase-fd", "0"];
        weaver_with(&[&args[..], &rest[..], more].concat(), PASSPHRASE)
    };
    assert_eq!(failed(&grant(&[])), (2, "approve.no_inbox".to_owned()));
    assert_eq!(failed(&grant(&["--inbox", &inbox])), (2, "approve.no_person".to_owned()));
    let run = grant(&["--inbox", &inbox, "--as", "alice"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(desk.deliver(), [SignedFileOutcome::Granted { request: id(&request) }]);
}

#[test]
fn without_documents_that_hold_the_approver_is_told_so() {
    let desk = Desk::new();
    let request = desk.push();
    desk.folder.append("policy/policy.toml", "# a remark\n[signals.info]\nhold_from = \"L1\"\n");
    let shown = desk.approve(&["show", &request]);
    assert!(shown.out.contains("policy.signature_digest"), "{shown:?}");
    assert!(shown.out.contains("can agree   alice, bob\n"), "{shown:?}");
    desk.folder.write("policy/keys.toml", "nonsense");
    let shown = desk.approve(&["show", &request]);
    assert!(shown.code == 0 && shown.out.contains("cannot be read"), "{shown:?}");
    let run = desk.signed("alice", &["grant", &request]);
    assert_eq!(failed(&run), (2, "approve.no_person".to_owned()));
    let run = desk.signed("alice", &["grant", &request, "--as", "alice"]);
    assert_eq!(run.code, 0, "nothing can be known, so the gateway decides: {run:?}");
}

#[test]
fn a_missing_ledger_and_a_missing_configuration_are_named() {
    let desk = Desk::new();
    let run = weaver(&["approve", "list", "--store", &desk.folder.arg("none.db")]);
    assert!(run.code == 4 && run.err.contains("approve.no_store"), "{run:?}");
    let run = weaver(&["approve", "list", "--config", &desk.folder.arg("none.toml")]);
    assert!(run.code == 3 && run.err.contains("config.unreadable"), "{run:?}");
    let run = weaver(&["approve", "list", "--inbox", "x"]);
    assert_eq!(run.code, 2, "an inbox without a ledger: {run:?}");
}
