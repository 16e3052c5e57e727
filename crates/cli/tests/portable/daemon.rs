//! Many clients of one daemon: started at once, killed, stopped, restarted.

use std::thread;

use serde_json::json;

use crate::gateway::{Client, Gateway, until};

#[test]
fn twenty_clients_started_at_once_share_one_daemon() {
    let gateway = Gateway::new();
    let clients: Vec<Client> = thread::scope(|scope| {
        let starts: Vec<_> = (0..20).map(|_| scope.spawn(|| gateway.client(&[]))).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let status = gateway.status();
    assert_eq!(status["sessions"].as_array().unwrap().len(), 20, "{status}");
    for mut client in clients {
        assert!(client.reads());
        client.finish();
    }
    until("no session is left", || gateway.status()["sessions"].as_array().unwrap().is_empty());
    gateway.verify();
}

#[test]
fn clients_go_on_when_the_daemon_is_killed() {
    let gateway = Gateway::new();
    let (mut one, mut other) = (gateway.client(&[]), gateway.client(&[]));
    assert!(one.reads() && other.reads());
    let first = gateway.status()["pid"].clone();
    gateway.kill_daemon();
    assert!(one.ask("tools/list", json!({}))["result"]["tools"].is_array());
    until("both read again", || one.reads() && other.reads());
    assert_ne!(gateway.status()["pid"], first, "another daemon");
    one.finish();
    other.finish();
    gateway.verify();
}

#[test]
fn a_held_call_waits_for_its_owner_and_outlasts_a_killed_daemon() {
    let gateway = Gateway::new();
    let mut client = gateway.client(&[]);
    let request = client.held_deletion();
    gateway.kill_daemon();
    until("the client reaches the next daemon", || client.reads());
    // Where the system does not tell who started a client, it is another one for the next daemon.
    if cfg!(any(target_os = "linux", windows)) {
        gateway.grant(&request);
        until("the granted call goes through", || {
            client.call("notes__delete_note", json!({ "name": "shopping" }));
            !gateway.note().exists()
        });
    }
    client.finish();
    gateway.verify();
}

#[test]
fn a_granted_call_goes_through_once() {
    let gateway = Gateway::new();
    let mut client = gateway.client(&[]);
    let request = client.held_deletion();
    assert!(gateway.note().exists());
    gateway.grant(&request);
    until("the granted call goes through", || {
        client.call("notes__delete_note", json!({ "name": "shopping" }));
        !gateway.note().exists()
    });
    client.finish();
    gateway.verify();
}

#[test]
fn a_stopped_daemon_stays_away_and_a_restarted_one_returns() {
    let gateway = Gateway::new();
    let mut client = gateway.client(&[]);
    assert!(client.reads());
    let first = gateway.status()["pid"].clone();
    gateway.ok(&["restart"]);
    assert_ne!(gateway.status()["pid"], first);
    until("the client goes on", || client.reads());
    gateway.ok(&["logs"]);
    gateway.ok(&["stop"]);
    assert_ne!(gateway.weaver(&["status"]).code, 0);
    let refused = client.ask("tools/list", json!({}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("weaver stop"), "{refused}");
    // A client that is started now starts it again.
    let mut next = gateway.client(&[]);
    assert!(next.reads());
    next.finish();
    client.finish();
    gateway.verify();
}

/// A command that prunes the log borrows it from the daemon, whose clients go on.
#[test]
fn a_command_borrows_the_store() {
    let gateway = Gateway::new();
    let mut client = gateway.client(&[]);
    assert!(client.reads());
    let store = gateway.store();
    let pruned = gateway.plain(&["trace", "prune", "--store", &store, "--older-than", "90d"]);
    assert_eq!(pruned.code, 0, "{pruned:?}");
    until("the client goes on", || client.reads());
    client.finish();
    gateway.verify();
}

/// A daemon that nobody started for a client stays: it lends its store, and is followed by the
/// installed program.
#[test]
fn a_daemon_of_a_terminal_lends_its_store_and_restarts() {
    let gateway = Gateway::new();
    let mut daemon = gateway.process(&["daemon"]);
    until("it runs", || gateway.weaver(&["status"]).code == 0);
    let pid = gateway.status()["pid"].clone();
    let mut client = gateway.client(&[]);
    assert!(client.reads());
    let store = gateway.store();
    let pruned = gateway.plain(&["trace", "prune", "--store", &store, "--older-than", "90d"]);
    assert_eq!(pruned.code, 0, "{pruned:?}");
    until("the client goes on", || client.reads());
    assert_eq!(gateway.status()["pid"], pid, "the same process");
    gateway.ok(&["restart"]);
    until("the client goes on", || client.reads());
    assert!(daemon.try_wait().unwrap().is_none(), "whoever started it still watches it");
    client.finish();
    gateway.ok(&["stop"]);
    until("it ends", || daemon.try_wait().unwrap().is_some());
    gateway.verify();
}

#[test]
fn clients_over_http_are_served_with_a_token() {
    let gateway = Gateway::new();
    let added = gateway.ok(&["clients", "add", "web", "--json"]).json();
    let token = added["token"].as_str().unwrap().to_owned();
    let mut daemon = gateway.process(&["daemon", "--http", "127.0.0.1:0"]);
    until("it listens", || {
        let status = gateway.weaver(&["status", "--json"]);
        status.code == 0 && status.json()["http"].is_string()
    });
    let address = gateway.status()["http"].as_str().unwrap().to_owned();
    assert!(crate::gateway::post(&address, None).starts_with("HTTP/1.1 401"));
    let answer = crate::gateway::post(&address, Some(&token));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("protocolVersion"), "{answer}");
    gateway.ok(&["stop"]);
    until("it ends", || daemon.try_wait().unwrap().is_some());
    gateway.verify();
}
