//! `weaver doctor`: what it finds of a gateway that is well, and of each thing that is not.

use serde_json::{Value, json};
use weaver_types::Tenant;
use weaver_types::ledger::{Batch, Durability, Ledger as _, Namespace, RecordKey, RecordWrite};

use crate::client::{Client, folder};
use crate::support::Folder;

fn examine(folder: &Folder) -> (i32, Vec<Value>) {
    let run = folder.weaver(&["doctor", "--json"]);
    let found = run.json()["checks"].as_array().unwrap().clone();
    (run.code, found)
}

/// What was found of a subject.
fn of<'a>(found: &'a [Value], subject: &str) -> &'a Value {
    found.iter().find(|one| one["subject"] == subject).unwrap_or(&Value::Null)
}

fn is_bad(folder: &Folder, subject: &str, word: &str) {
    let (code, found) = examine(folder);
    let one = of(&found, subject);
    assert_eq!((code, one["health"].as_str()), (1, Some("bad")), "{found:?}");
    assert!(one["finding"].as_str().unwrap().contains(word), "{one}");
    assert!(one["next"].as_str().is_some_and(|next| !next.is_empty()), "{one}");
}

#[test]
fn nothing_is_wrong_with_a_gateway_that_is_well() {
    let folder = folder(&[("good", "good")], "", "");
    let mut client = Client::start(&folder).shaken();
    assert!(!client.execute("good.people", json!({})).0);
    client.finish();
    let (code, found) = examine(&folder);
    assert!(found.iter().all(|one| one["health"] != "bad") && code == 0, "{found:?}");
    for subject in ["configuration", "documents", "approvers", "disk", "log", "gateway", "clients"]
    {
        assert!(!of(&found, subject).is_null(), "{subject} is missing: {found:?}");
    }
    assert!(of(&found, "log")["finding"].as_str().unwrap().contains("verified"));
}

#[test]
fn a_configuration_that_cannot_be_read_is_named_with_its_line() {
    let folder = folder(&[("good", "good")], "", "");
    folder.append("weaver.toml", "\n[gateway]\nmdoe = 1\n");
    is_bad(&folder, "configuration", "weaver.toml:");
}

#[test]
fn a_document_changed_after_it_was_signed_stops_no_other_look() {
    let folder = folder(&[("good", "good")], "", "");
    let policy = std::fs::read_to_string(folder.path("policy/policy.toml")).unwrap();
    folder.write("policy/policy.toml", &policy.replace("version = 1", "version = 2"));
    is_bad(&folder, "documents", "changed after it was signed");
    assert!(!of(&examine(&folder).1, "disk").is_null(), "the other looks are taken");
}

#[test]
fn a_log_that_was_changed_does_not_verify() {
    let folder = folder(&[("good", "good")], "", "");
    let mut client = Client::start(&folder).shaken();
    assert!(!client.execute("good.people", json!({})).0);
    client.finish();
    folder.weaver(&["stop"]);
    let path = folder.path(".weaver/ledger.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let written = b"\"capability\":\"good.people\"";
    let places: Vec<usize> = bytes
        .windows(written.len())
        .enumerate()
        .filter(|(_, at)| at == written)
        .map(|(at, _)| at)
        .collect();
    for at in &places {
        bytes[at + written.len() - 2] = b'f';
    }
    assert!(!places.is_empty());
    std::fs::write(&path, bytes).unwrap();
    is_bad(&folder, "log", "does not verify");
}

#[test]
fn a_run_whose_record_cannot_be_read_is_named() {
    let folder = folder(&[("good", "good")], "", "");
    let mut client = Client::start(&folder).shaken();
    assert!(!client.execute("good.people", json!({})).0);
    client.finish();
    folder.weaver(&["stop"]);
    assert!(of(&examine(&folder).1, "runs").is_null(), "nothing is wrong with them");
    let ledger = folder.ledger();
    let (run, _) = ledger.list(&Tenant::default(), Namespace::Run, None, 1).unwrap().remove(0);
    let key = RecordKey::new(Tenant::default(), Namespace::Run, run.as_str());
    let mut batch = Batch::new(Durability::Disk);
    batch.put.push(RecordWrite { key, value: b"{}".to_vec(), expires_at: None });
    ledger.commit(batch).wait().unwrap();
    drop(ledger);
    is_bad(&folder, "runs", &run);
    // The client is still in that run.
    let mut client = Client::start(&folder).shaken();
    let (is_error, body) = client.execute("good.people", json!({}));
    let message = body["message"].as_str().unwrap();
    assert!(is_error && message.contains(&format!("weaver approve end-run {run}")), "{body}");
    client.finish();
}

#[test]
fn a_server_that_cannot_start_is_told_with_its_reason() {
    let folder = folder(&[("good", "good"), ("gone", "absent")], "", "");
    let mut client = Client::shim(&folder, &[]).shaken();
    assert!(!client.execute("good.people", json!({})).0);
    is_bad(&folder, "server gone", "no-server");
    client.finish();
    folder.weaver(&["stop"]);
}
