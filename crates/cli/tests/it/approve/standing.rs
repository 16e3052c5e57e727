//! Approvals given in advance.

use std::fs;

use serde_json::json;
use weaver_agent_kernel::SignedFileOutcome;

use super::desk::{Desk, failed, lines};

const FLAGS: [&str; 12] = [
    "standing",
    "grant",
    "--capability",
    "repo.*",
    "--principal",
    "owner",
    "--argument",
    "{ at = \"/branch\", prefix = \"feature/\" }",
    "--uses",
    "2",
    "--expires",
    "2h",
];

#[test]
fn a_standing_approval_releases_what_it_names_as_often_as_it_says() {
    let desk = Desk::new();
    let run = desk.signed("bob", &FLAGS);
    assert_eq!((run.code, &run.json()["sent"]), (0, &json!(true)), "{run:?}");
    let name = run.json()["standing"].as_str().unwrap().to_owned();
    let received = desk.deliver();
    assert!(matches!(received[..], [SignedFileOutcome::StandingAccepted { .. }]), "{received:?}");
    let push = |branch: &str| desk.goes_through("repo.push", &json!({ "branch": branch }));
    assert!(!push("main") && push("feature/a"));
    let listed = lines(&desk.approve(&["standing", "list", "--json"]));
    assert_eq!((&listed[0]["id"], &listed[0]["left"]), (&json!(name), &json!(1)));
    let shown = desk.approve(&["standing", "show", &name]);
    assert!(shown.out.contains("feature/") && shown.out.contains("1 of 2 uses left"), "{shown:?}");
    assert!(push("feature/b") && !push("feature/c"));
    assert!(desk.approve(&["standing", "list"]).out.contains("no standing approval"));
    assert!(desk.approve(&["standing", "list", "--all"]).out.contains("used up"));
    assert_eq!(desk.executed(), 2);
}

#[test]
fn an_operator_takes_a_standing_approval_back() {
    let desk = Desk::new();
    let name = desk.signed("bob", &FLAGS).json()["standing"].as_str().unwrap().to_owned();
    desk.deliver();
    let run = desk.signed("bob", &["standing", "revoke", &name]);
    assert_eq!(failed(&run), (8, "approve.not_operator".to_owned()));
    assert_eq!(desk.signed("alice", &["standing", "revoke", &name]).code, 0);
    assert!(matches!(desk.deliver()[..], [SignedFileOutcome::StandingRevoked { .. }]));
    assert!(!desk.goes_through("repo.push", &json!({ "branch": "feature/a" })));
    let run = desk.signed("alice", &["standing", "revoke", &name]);
    assert_eq!(failed(&run), (9, "approve.standing_over".to_owned()));
    let run = desk.signed("alice", &["standing", "revoke", "std_none"]);
    assert_eq!(failed(&run), (7, "approve.unknown".to_owned()));
}

const TERMS: &str = r#"
capability = "pay.send"
principals = "owner"
arguments = { at = "/amount", max = 10 }
uses = 3
"#;

/// A desk whose policy wants two people under every standing approval.
fn strict() -> Desk {
    let desk = Desk::new();
    let standing = "standing = { max_uses = 5, authority = { quorum = 2 } }\n";
    let text = fs::read_to_string(desk.folder.path("policy/policy.toml")).unwrap();
    let text =
        text.replace("[approvals.floor]", &format!("[approvals]\n{standing}[approvals.floor]"));
    desk.folder.write("policy/policy.toml", &text.replace("version = 1", "version = 2"));
    desk.folder.sign("policy");
    let terms =
        format!("{TERMS}expires = {}\n", super::now().after(super::Duration::from_secs(900)));
    desk.folder.write("pay.toml", &terms);
    desk
}

#[test]
fn several_people_sign_one_file() {
    let desk = strict();
    let (from, out) = (desk.folder.arg("pay.toml"), desk.folder.arg("pay.json"));
    let grant = ["standing", "grant", "--from", &from];
    let run = desk.signed("alice", &grant);
    assert_eq!(failed(&run), (8, "approve.quorum".to_owned()), "one is too few for the inbox");
    let run = desk.signed("alice", &[&grant[..], &["--out", &out]].concat());
    assert_eq!((run.code, &run.json()["sent"]), (0, &json!(false)), "{run:?}");
    let again = desk.signed("alice", &[&grant[..], &["--out", &out]].concat());
    assert_eq!(failed(&again), (3, "approve.exists".to_owned()));
    let sign = ["standing", "sign", &out];
    assert_eq!(failed(&desk.signed("alice", &sign)), (9, "approve.replayed".to_owned()));
    assert_eq!(failed(&desk.signed("mallory", &sign)).0, 8);
    assert_eq!(desk.inbox().len(), 0);
    let run = desk.signed("bob", &sign);
    let said = run.json();
    assert_eq!((&said["sent"], &said["signatures"]), (&json!(true), &json!(2)), "{run:?}");
    assert!(matches!(desk.deliver()[..], [SignedFileOutcome::StandingAccepted { .. }]));
    assert!(desk.goes_through("pay.send", &json!({ "amount": 9 })));
    assert!(!desk.goes_through("pay.send", &json!({ "amount": 11 })));
}

#[test]
fn terms_that_are_wrong_or_beyond_the_policy_are_refused() {
    let desk = strict();
    let from = desk.folder.arg("pay.toml");
    let grant = |text: &str| {
        desk.folder.write("pay.toml", text);
        failed(&desk.signed("alice", &["standing", "grant", "--from", &from]))
    };
    let good = fs::read_to_string(desk.folder.path("pay.toml")).unwrap();
    let bounds = (3, "approve.bounds".to_owned());
    assert_eq!(grant(&good.replace("uses = 3", "uses = 6")), bounds);
    let terms = (3, "approve.terms".to_owned());
    for (old, new) in [
        ("capability =", "capabilty ="),
        ("uses = 3", "uses = -1"),
        ("max = 10", "max = 10, maximum = 3"),
        ("capability", "[capability"),
    ] {
        assert_eq!(grant(&good.replace(old, new)), terms, "{new}");
    }
    let time = (2, "approve.time".to_owned());
    let (head, _) = good.split_once("expires").unwrap();
    assert_eq!(grant(&format!("{head}expires = \"soon\"\n")), time);
    assert_eq!(desk.inbox().len(), 0);
}

#[test]
fn a_file_that_somebody_changed_is_not_signed_on() {
    let desk = strict();
    let (from, out) = (desk.folder.arg("pay.toml"), desk.folder.arg("pay.json"));
    assert_eq!(
        desk.signed("alice", &["standing", "grant", "--from", &from, "--out", &out]).code,
        0
    );
    let text = fs::read_to_string(&out).unwrap();
    desk.folder.write("pay.json", &text.replace("\"uses\":3", "\"uses\":5"));
    let run = desk.signed("bob", &["standing", "sign", &out]);
    assert_eq!(run.code, 3, "{run:?}");
    assert_eq!(desk.inbox().len(), 0);
    desk.folder.write("pay.json", "{}");
    let run = desk.signed("bob", &["standing", "sign", &out]);
    assert_eq!(failed(&run), (3, "approve.terms".to_owned()));
}

/// Whoever acts as a principal cannot release its calls, and an end of a key voids what it signed.
#[test]
fn it_is_shown_who_signed_and_that_nothing_is_released() {
    let desk = Desk::new();
    let name = desk.signed("olga", &FLAGS).json()["standing"].as_str().unwrap().to_owned();
    assert!(matches!(desk.deliver()[..], [SignedFileOutcome::StandingAccepted { .. }]));
    let listed = lines(&desk.approve(&["standing", "list", "--json"])).remove(0);
    assert_eq!((&listed["id"], &listed["status"]), (&json!(name), &json!("without effect")));
    assert_eq!(listed["signers"], json!(["olga"]));
    assert_eq!(listed["not_for"][0]["principal"], "owner", "{listed}");
    let shown = desk.approve(&["standing", "show", &name]);
    assert!(shown.out.contains("without effect") && shown.out.contains("signed by olga"));
    assert!(shown.out.contains("releases nothing: whoever asks cannot approve"), "{shown:?}");
    assert!(!desk.goes_through("repo.push", &json!({ "branch": "feature/a" })));

    desk.signed("bob", &FLAGS);
    desk.deliver();
    let of_bob = || {
        let listed = lines(&desk.approve(&["standing", "list", "--json"]));
        listed.into_iter().find(|one| one["id"] != json!(name)).unwrap()
    };
    assert_eq!((&of_bob()["status"], &of_bob()["signers"]), (&json!("in force"), &json!(["bob"])));
    let ended = super::desk::keys()
        .replace("[approvers.low]", "not_after = 2020-01-01T00:00:00Z\n[approvers.low]");
    let text = fs::read_to_string(desk.folder.path("policy/keys.toml")).unwrap();
    let text = text.replace(&super::desk::keys(), &ended).replace("version = 1", "version = 2");
    desk.folder.write("policy/keys.toml", &text);
    desk.folder.sign("keys");
    assert_eq!(of_bob()["status"], "without effect", "{}", of_bob());
    assert!(of_bob()["without_effect"].as_str().unwrap().contains("no longer"), "{}", of_bob());
}
