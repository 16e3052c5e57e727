//! The command beside a running gateway.

use serde_json::{Value, json};

use super::desk::{PASSPHRASE, failed, key_file, keys, lines};
use crate::client::{Client, folder, reason, shown};
use crate::support::{Folder, Run, weaver_with};

const SINK: &str = "[capabilities.\"good.send\"]\neffects = \"write_open\"\nsink = \"external_send\"\n\
                    clearance = \"internal\"\n";

fn guarded(settings: &str) -> Folder {
    let folder = folder(&[("good", "good")], settings, SINK);
    folder.append("policy/keys.toml", &keys());
    folder.sign("keys");
    for who in ["alice", "low"] {
        folder.write(&format!("{who}.key"), &key_file(who));
    }
    folder
}

fn approve(folder: &Folder, args: &[&str]) -> Run {
    let config = folder.arg("weaver.toml");
    let mut all = vec!["approve"];
    all.extend(args);
    all.extend(["--json", "--config", &config]);
    weaver_with(&all, PASSPHRASE)
}

fn signed(folder: &Folder, args: &[&str]) -> Run {
    let key = folder.arg("alice.key");
    let rest = ["--key", &key, "--passphrase-fd", "0", "--yes"];
    approve(folder, &[args, &rest].concat())
}

fn message(text: &str) -> Value {
    json!({ "to": "bob@example.com", "text": text })
}

/// Makes the call that is held; gives its request.
fn held(client: &mut Client, text: &str) -> String {
    let (is_error, body) = client.execute("good.send", message(text));
    assert!(is_error, "{body}");
    assert_eq!(reason(&body).1, "approval_required", "{body}");
    body["approval"]["request"].as_str().unwrap().to_owned()
}

#[test]
fn a_call_is_released_beside_a_running_gateway() {
    let folder = guarded("");
    let mut client = Client::open(&folder);
    let request = held(&mut client, "hello");
    let listed = lines(&approve(&folder, &["list"]));
    assert_eq!(
        (&listed[0]["id"], &listed[0]["capability"]),
        (&json!(request), &json!("good.send"))
    );
    let run = signed(&folder, &["grant", &request, "--wait", "30"]);
    assert_eq!((run.code, &run.json()["taken_in"]), (0, &json!(true)), "{run:?}");
    let (is_error, body) = client.execute("good.send", message("hello"));
    assert!(!is_error && shown(&body).contains("hello"), "{body}");
    let again = held(&mut client, "hello again");
    let (key, config) = (folder.arg("alice.key"), folder.arg("weaver.toml"));
    let grant = ["approve", "grant", &again, "--wait", "30", "--yes", "--config", &config];
    let run =
        weaver_with(&[&grant[..], &["--key", &key, "--passphrase-fd", "0"]].concat(), PASSPHRASE);
    assert!(
        run.out.contains("the gateway has taken it in\n  next: the call goes through"),
        "{run:?}"
    );
    assert!(!run.out.contains("once the gateway has verified it"), "{run:?}");
    let other = held(&mut client, "once more");
    assert_ne!(other, request);
    let run = signed(&folder, &["deny", &other, "--wait", "30", "--reason", "once is enough"]);
    assert_eq!(run.code, 0, "{run:?}");
    let (_, body) = client.execute("good.send", message("once more"));
    assert_eq!(reason(&body).1, "approval_denied", "{body}");
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("was denied: \"once is enough\"; it can be requested"), "{body}");
    client.finish();
}

#[test]
fn what_the_gateway_refuses_is_told_to_who_waits() {
    let folder = guarded("");
    let mut client = Client::open(&folder);
    let request = held(&mut client, "hello");
    let (store, inbox) = (folder.arg(".weaver/ledger.db"), folder.arg(".weaver/inbox"));
    let key = folder.arg("low.key");
    // Without the configuration the command knows nobody; the gateway does.
    let args = ["approve", "grant", &request, "--store", &store, "--inbox", &inbox, "--wait", "30"];
    let rest = ["--key", &key, "--as", "alice", "--passphrase-fd", "0", "--yes", "--json"];
    let run = weaver_with(&[&args[..], &rest].concat(), PASSPHRASE);
    assert_eq!(failed(&run), (11, "approve.not_counted".to_owned()));
    assert!(run.err.contains("wrong_key"), "{run:?}");
    assert_eq!(held(&mut client, "hello"), request, "it is held as before");
    client.finish();
    let run = signed(&folder, &["grant", &request, "--wait", "1"]);
    assert_eq!(failed(&run), (11, "approve.not_taken".to_owned()), "no gateway runs");
}

#[test]
fn an_operator_ends_the_current_run_of_a_gateway() {
    let folder = guarded("");
    let mut client = Client::open(&folder);
    let request = held(&mut client, "hello");
    let run = signed(&folder, &["end-run", "--current"]);
    assert_eq!(run.code, 0, "{run:?}");
    let begun = std::time::Instant::now();
    while held(&mut client, "hello") == request {
        assert!(begun.elapsed().as_secs() < 30, "the run never ended");
    }
    client.finish();
}
