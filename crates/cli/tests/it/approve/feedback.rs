//! `weaver feedback`: outcomes, beside a running gateway.

use serde_json::{Value, json};

use super::desk::{PASSPHRASE, failed, key_file, keys, lines};
use crate::client::{Client, folder, reason};
use crate::support::{Folder, Run, until, weaver_with};

/// A source that the operator trusts, and a tool that writes.
const TOOLS: &str = "[capabilities.\"good.people\"]\neffects = \"read_local\"\n\
    output = { integrity = \"trusted\" }\n\n\
    [capabilities.\"good.echo\"]\neffects = \"write_local\"\nsink = \"none\"\n\n";

fn watched() -> Folder {
    let settings = "[gateway]\nsentinels = [\"calibration-flags\"]\n";
    let folder = folder(&[("good", "good")], settings, TOOLS);
    folder.append("policy/keys.toml", &keys());
    folder.sign("keys");
    for who in ["alice", "bob"] {
        folder.write(&format!("{who}.key"), &key_file(who));
    }
    folder
}

fn feedback(folder: &Folder, args: &[&str]) -> Run {
    let config = folder.arg("weaver.toml");
    let mut all = vec!["feedback"];
    all.extend(args);
    all.extend(["--json", "--config", &config]);
    weaver_with(&all, PASSPHRASE)
}

fn record(folder: &Folder, who: &str, args: &[&str]) -> Run {
    let key = folder.arg(&format!("{who}.key"));
    let rest = ["--key", &key, "--passphrase-fd", "0", "--yes"];
    feedback(folder, &[&["record"], args, &rest].concat())
}

fn known(folder: &Folder) -> Vec<Value> {
    lines(&feedback(folder, &["list"]))
}

#[test]
fn outcomes_of_calls_are_recorded_shown_and_hold_what_rests_on_them() {
    let folder = watched();
    let mut client = Client::open(&folder);
    let (is_error, body) = client.execute("good.people", json!({}));
    assert!(!is_error, "{body}");
    let call = body["call"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned();
    let write = json!({ "capability": "good.echo", "arguments": { "text": "1" },
        "justification": "a note for the desk" });
    let (is_error, body) = client.call("tool_execute", write.clone());
    assert!(!is_error, "{body}");
    assert_eq!(known(&folder), [Value::Null; 0]);
    for count in 1..=5 {
        let said = record(&folder, "alice", &[&call, "--wrong"]);
        assert_eq!(said.code, 0, "{said:?}");
        until("the outcome is counted", || {
            known(&folder).first().is_some_and(|class| class["samples"] == count)
        });
    }
    let class = known(&folder).remove(0);
    assert_eq!((&class["class"], &class["flagged"]), (&json!("good.people"), &json!(true)));
    assert_eq!((&class["gap"], &class["error"]), (&json!(1.0), &json!(1.0)), "it was trusted");
    let (is_error, body) = client.call("tool_execute", write);
    assert!(is_error);
    assert_eq!(reason(&body).0, "hold", "{body}");
    assert!(body.to_string().contains("badly calibrated"), "{body}");
    client.finish();
}

#[test]
fn only_an_operator_records_outcomes_and_only_of_what_was_called() {
    let folder = watched();
    let mut client = Client::open(&folder);
    let (_, body) = client.execute("good.people", json!({}));
    let call = body["call"].as_str().unwrap().to_owned();
    client.finish();
    let refused = record(&folder, "bob", &[&call, "--right"]);
    assert_eq!(failed(&refused), (8, "approve.not_operator".to_owned()));
    let unknown = record(&folder, "alice", &["call_0", "--right"]);
    assert_eq!(failed(&unknown), (7, "approve.unknown".to_owned()));
    let odd = ["--class", "a b", "--confidence", "3", "--right"];
    assert_eq!(failed(&record(&folder, "alice", &odd)).1, "feedback.class");
    assert_eq!(record(&folder, "alice", &[&call]).code, 2, "right or wrong has to be said");
    assert_eq!(known(&folder), [Value::Null; 0]);
}
