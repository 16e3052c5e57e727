//! What the user said, as a client tells it: only a host that the policy trusts.

use serde_json::{Value, json};

use crate::client::{Client, RULES, events, folder, replace, unpack};

const SINK: &str = "[capabilities.\"good.send\"]\neffects = \"write_open\"\nrung = \"L1\"\nlower_rung = true\n\
    sink = \"external_send\"\n\n[capabilities.\"good.people\"]\n\
    effects = \"read_local\"\noutput = { integrity = \"untrusted\" }\n\n";

/// A call with what the user said beside it.
fn send(client: &mut Client, to: &str, said: &Value) -> String {
    let arguments = json!({ "to": to, "text": "See you at noon." });
    let arguments = json!({ "capability": "good.send", "arguments": arguments });
    let params = json!({
        "name": "tool_execute", "arguments": arguments, "_meta": { "weaver/user_said": said },
    });
    let (_, body) = unpack(&client.request("tools/call", params));
    body["verdict"].as_str().unwrap_or("allow").to_owned()
}

fn said(folder: &crate::support::Folder) -> Vec<Value> {
    let all = events(folder).into_iter().filter(|(kind, _)| kind == "run.user_said");
    all.map(|(_, payload)| payload).collect()
}

#[test]
fn the_words_of_a_trusted_host_release_what_they_name_and_no_other_value() {
    let folder = folder(&[("good", "good")], "", SINK);
    replace(
        &folder,
        "policy",
        2,
        &format!("trusted_hosts = [\"test\"]\nprincipals.owner.roles = []\n{RULES}"),
    );
    let mut client = Client::open(&folder);
    client.execute("good.people", json!({}));
    let words = json!("Please write to bob@example.com that we meet");
    assert_eq!(send(&mut client, "bob@example.com", &json!(null)), "hold");
    assert_eq!(send(&mut client, "bob@example.com", &words), "allow");
    assert_eq!(send(&mut client, "eve@evil.example", &json!(["Hello"])), "hold");
    assert_eq!(send(&mut client, "bob@example.com", &words), "allow", "once is enough");
    client.finish();
    let mut client = Client::open(&folder);
    assert_eq!(send(&mut client, "bob@example.com", &json!(null)), "allow", "after a restart");
    client.finish();
    assert_eq!(said(&folder).len(), 2, "each text once");
}

#[test]
fn the_words_of_any_other_client_count_for_nothing_and_the_log_says_so_once() {
    let folder = folder(&[("good", "good")], "", SINK);
    replace(
        &folder,
        "policy",
        2,
        &format!("trusted_hosts = [\"another\"]\nprincipals.owner.roles = []\n{RULES}"),
    );
    let mut client = Client::open(&folder);
    client.execute("good.people", json!({}));
    for _ in 0..2 {
        assert_eq!(
            send(&mut client, "bob@example.com", &json!("write to bob@example.com")),
            "hold"
        );
    }
    client.finish();
    let said = said(&folder);
    assert_eq!(said.len(), 1);
    assert_eq!(said[0]["fields"], json!({ "client": "test", "counts": false }));
}
