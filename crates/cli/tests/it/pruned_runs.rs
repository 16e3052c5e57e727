//! Runs that go on after payloads of their events were pruned.

use serde_json::{Value, json};
use weaver_agent_kernel::RunState;
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::ledger::{Batch, Durability, Ledger as _, Namespace, NewEvent, RecordKey};
use weaver_types::{EventKind, RunId, Tenant, Timestamp};

use crate::approvals::{message, now};
use crate::client::Client;
use crate::client_runs::{only_run, stored, tainting};
use crate::support::{Folder, weaver};

/// Begins the ledger anew: the only run was begun and tainted two days ago and is still in use.
fn as_begun_two_days_ago(folder: &Folder) -> String {
    let (id, record) = stored(folder).remove(0);
    let at = Timestamp::from_micros(now().micros() - 2 * 86_400 * 1_000_000);
    for file in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let _ = std::fs::remove_file(folder.path(&format!(".weaver/{file}")));
    }
    let ledger =
        SqliteLedger::open(folder.path(".weaver/ledger.db"), OpenOptions::default()).unwrap();
    let run = RunId::parse(record["run"].as_str().unwrap()).unwrap();
    let event = |kind, run, payload: Value| NewEvent {
        kind,
        at,
        run,
        call: None,
        payload: payload.to_string().into_bytes().into(),
    };
    let key = |namespace, id: &str| RecordKey::new(Tenant::default(), namespace, id);
    let mut state = RunState::default();
    state.label.integrity = weaver_types::Integrity::Untrusted;
    let delta = json!({ "label": { "confidentiality": "public", "integrity": "untrusted" } });
    let entered = json!({ "client": id, "entered": run, "tenant": "local" });
    let batch = Batch::new(Durability::Disk)
        .with_event(event(EventKind::RunEntered, None, entered))
        .with_event(event(EventKind::RunStarted, Some(run.clone()), json!({})))
        .with_event(event(EventKind::Outcome, Some(run.clone()), json!({ "run": delta })))
        .create(key(Namespace::Run, run.as_str()), serde_json::to_vec(&state).unwrap(), None)
        .create(key(Namespace::CurrentRun, &id), record.to_string().into_bytes(), None);
    ledger.commit(batch).wait().unwrap();
    run.to_string()
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
    let events = Reader::open(folder.path(".weaver/ledger.db")).unwrap().events(0, 100).unwrap();
    let restated = events.iter().filter(|event| {
        let header: Value = serde_json::from_slice(&event.header).unwrap();
        header["type"] == "run.restated" && header["run"] == run.as_str()
    });
    assert_eq!(restated.count(), 1);
}
