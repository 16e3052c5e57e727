//! Runs that go on after payloads of their events were pruned.

use serde_json::{Value, json};
use weaver_agent_kernel::RunState;
use weaver_types::Timestamp;

use crate::approvals::{message, now};
use crate::client::Client;
use crate::client_runs::{begin_anew, only_run, tainting};
use crate::support::{Folder, weaver};

/// Begins the ledger anew: the only run was begun and tainted two days ago and is still in use.
fn as_begun_two_days_ago(folder: &Folder) -> String {
    let at = Timestamp::from_micros(now().micros() - 2 * 86_400 * 1_000_000);
    let mut state = RunState::default();
    state.label.integrity = weaver_types::Integrity::Untrusted;
    let delta = json!({ "label": { "confidentiality": "public", "integrity": "untrusted" } });
    begin_anew(folder, at, &state, json!({}), Some(json!({ "run": delta })))
}

/// What the sink says, which only a tainted run is kept from.
fn send(client: &mut Client) -> Value {
    client.execute("good.send", message("See you at noon.")).1
}

#[test]
fn a_run_in_use_goes_on_after_its_beginning_is_pruned() {
    let folder = tainting();
    let mut client = Client::open(&folder);
    assert_eq!(send(&mut client)["verdict"], "allow");
    client.finish();
    let run = as_begun_two_days_ago(&folder);
    let store = folder.arg(".weaver/ledger.db");
    let pruned = weaver(&["trace", "prune", "--store", &store, "--older-than", "1d", "--json"]);
    let report: Value = serde_json::from_str(&pruned.out).unwrap();
    assert_eq!(report["pruned"], 3, "{report}");
    let mut client = Client::open(&folder);
    let body = send(&mut client);
    assert_eq!(body["verdict"], "hold", "{body}");
    client.finish();
    assert_eq!(only_run(&folder), run, "no other run began");
    let verified = weaver(&["trace", "verify", "--store", &store, "--json"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    let events = folder.reader().events(0, 100).unwrap();
    let restated = events.iter().filter(|event| {
        let header: Value = serde_json::from_slice(&event.header).unwrap();
        header["type"] == "run.restated" && header["run"] == run.as_str()
    });
    assert_eq!(restated.count(), 1);
}
