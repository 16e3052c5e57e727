//! Which clients share a process of a server: none by default, those of a folder, or all.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use weaver_policy::approval::{Nonce, OperatorAction, OperatorStatement};
use weaver_types::ledger::Namespace;
use weaver_types::{LogId, OsRandom, RunId, Tenant};

use crate::approvals::{alice, drop_in, keys, now, taken};
use crate::client::{Client, folder, initialize, replace};
use crate::support::Folder;
use crate::support::until;

/// A gateway whose server remembers its calls; its daemon ends with the test.
struct Remembering(Folder);

impl Remembering {
    fn new(behaviour: &str, setting: &str) -> Self {
        let patient = "[capabilities.\"good.stall\"]\neffects = \"read_local\"\nsink = \"none\"\n\
            timeout_ms = 60000\n";
        let folder = folder(&[("good", behaviour)], "", patient);
        folder.write("policy/keys.toml", &keys(2));
        folder.sign("keys");
        let config = std::fs::read_to_string(folder.path("weaver.toml")).unwrap();
        let head = "[mcpServers.good]\n";
        folder.write("weaver.toml", &config.replace(head, &format!("{head}{setting}\n")));
        Self(folder)
    }

    /// A client process of its own, which works in a folder.
    fn client_in(&self, folder: &Path) -> Client {
        self.process_in(folder).shaken()
    }

    /// The same, before the handshake.
    fn process_in(&self, folder: &Path) -> Client {
        self.0.write("client.sh", "\"$@\"\nexit $?\n");
        let mut command = Command::new("sh");
        command.arg(self.0.path("client.sh")).arg(env!("CARGO_BIN_EXE_weaver"));
        command.args(["serve", "--config", &self.0.arg("weaver.toml")]).current_dir(folder);
        Client::start_as(command)
    }

    fn client(&self) -> Client {
        self.client_in(&std::env::temp_dir())
    }

    /// Ends the run of the only client that has one, as an operator does.
    fn end_only_run(&self) {
        let reader = self.0.reader();
        let records = reader.records(&Tenant::default(), Namespace::CurrentRun, None, 10).unwrap();
        assert_eq!(records.len(), 1);
        let record: Value = serde_json::from_slice(&records[0].1.value).unwrap();
        let statement = OperatorStatement {
            v: 1,
            action: OperatorAction::EndRun {
                run: RunId::parse(record["run"].as_str().unwrap()).unwrap(),
            },
            log: LogId::parse(reader.head().unwrap().log.as_str()).unwrap(),
            approver: "alice".to_owned(),
            at: now(),
            nonce: Nonce::random(&OsRandom).unwrap(),
        };
        drop_in(&self.0, &statement.sign(&alice()).unwrap().to_json().unwrap());
        taken(&self.0);
        until("another run has begun", || {
            let records =
                reader.records(&Tenant::default(), Namespace::CurrentRun, None, 10).unwrap();
            records.iter().all(|(_, other)| {
                serde_json::from_slice::<Value>(&other.value).unwrap()["run"] != record["run"]
            })
        });
    }

    fn folder(&self, name: &str) -> std::path::PathBuf {
        std::fs::create_dir_all(self.0.path(name)).unwrap();
        std::fs::canonicalize(self.0.path(name)).unwrap()
    }
}

impl Drop for Remembering {
    fn drop(&mut self) {
        self.0.weaver(&["stop"]);
    }
}

/// What the server says it remembers.
fn count(client: &mut Client) -> String {
    let (failed, body) = client.execute("good.count", json!({}));
    assert!(!failed, "{body}");
    body.as_str().map_or_else(|| body.to_string(), str::to_owned)
}

fn remembers(client: &mut Client, calls: u32) {
    let said = count(client);
    assert!(said.contains(&format!("call {calls} in")), "{said}");
}

#[test]
fn no_client_sees_what_another_left_in_a_server() {
    let gateway = Remembering::new("counting", "");
    let (mut one, mut other) = (gateway.client(), gateway.client());
    remembers(&mut one, 1);
    remembers(&mut other, 1);
    remembers(&mut one, 2);
    remembers(&mut other, 2);
    one.finish();
    let mut third = gateway.client();
    remembers(&mut third, 1);
    remembers(&mut other, 3);
    third.finish();
    other.finish();
}

#[test]
fn a_session_of_the_same_client_finds_its_instance_again() {
    let gateway = Remembering::new("counting", "");
    let open = || Client::shim(&gateway.0, &[]).shaken();
    let mut first = open();
    remembers(&mut first, 1);
    first.finish();
    let mut again = open();
    remembers(&mut again, 2);
    again.finish();
}

#[test]
fn a_server_may_be_shared_by_all() {
    let gateway = Remembering::new("counting", "instances = \"shared\"");
    let (mut one, mut other) = (gateway.client(), gateway.client());
    remembers(&mut one, 1);
    remembers(&mut other, 2);
    one.finish();
    other.finish();
}

#[test]
fn clients_of_a_folder_share_a_server_that_works_there() {
    let setting = "instances = \"folder\"";
    let gateway = Remembering::new("counting", setting);
    let (red, blue) = (gateway.folder("red"), gateway.folder("blue"));
    let (mut one, mut same) = (gateway.client_in(&red), gateway.client_in(&red));
    let mut other = gateway.client_in(&blue);
    for (client, calls, folder) in
        [(&mut one, 1, &red), (&mut other, 1, &blue), (&mut same, 2, &red)]
    {
        let said = count(client);
        assert!(said.contains(&format!("call {calls} in {}", folder.display())), "{said}");
    }
    for client in [one, same, other] {
        client.finish();
    }
}

/// Nobody's call waits longer for a second process than for an answer, and none is lost to it.
#[test]
fn a_server_that_starts_slowly_for_a_second_client_is_called_again() {
    let gateway = Remembering::new("late", "timeout_ms = 1500");
    let (mut one, mut other) = (gateway.client(), gateway.client());
    let echo = |client: &mut Client| client.execute("good.echo", json!({ "text": "hi" }));
    let patiently = |client: &mut Client| {
        for _ in 0..60 {
            let (failed, body) = echo(client);
            if !failed {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(500));
            assert!(body.to_string().contains("starting"), "{body}");
        }
        panic!("the server was never there");
    };
    patiently(&mut one);
    let (failed, body) = echo(&mut other);
    let said = "still starting for this client; nothing was sent, call again";
    assert!(failed && body.to_string().contains(said), "{body}");
    patiently(&mut other);
    one.finish();
    other.finish();
}

fn uris(client: &mut Client) -> Vec<String> {
    let listed = client.request("resources/list", json!({}));
    let items = listed["result"]["resources"].as_array().unwrap_or_else(|| panic!("{listed}"));
    items.iter().map(|item| item["uri"].as_str().unwrap().to_owned()).collect()
}

fn read(client: &mut Client, uri: &str) -> String {
    let read = client.request("resources/read", json!({ "uri": uri }));
    read["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{read}")).to_owned()
}

/// Resources are as much one client's own as what its tools did: what one client lists, reads, and
/// is told comes from its own process of the server.
#[test]
fn no_client_sees_the_resources_of_another() {
    let gateway = Remembering::new("features", "");
    let (mut one, mut other) = (gateway.client(), gateway.client());
    for client in [&mut one, &mut other] {
        assert!(!uris(client).contains(&"note://more".to_owned()));
    }
    // Reading this one adds a resource, and tells of it.
    assert_eq!(read(&mut one, "note://events"), "told");
    while one.notice()["method"] != "notifications/resources/list_changed" {}
    assert!(uris(&mut one).contains(&"note://more".to_owned()));
    assert!(!uris(&mut other).contains(&"note://more".to_owned()), "it has no process yet");
    let subscribed = other.request("resources/subscribe", json!({ "uri": "note://1" }));
    assert!(subscribed["error"].is_null(), "{subscribed}");
    assert_eq!(read(&mut other, "note://1"), "note 1");
    assert!(!uris(&mut other).contains(&"note://more".to_owned()), "its own process has none");
    // What the first client's process tells is not for the second, which watches the same resource.
    assert_eq!(read(&mut one, "note://events"), "told");
    assert_eq!(read(&mut other, "note://events"), "told");
    // Lists also change while the server starts.
    let mut told: Vec<String> = Vec::new();
    let is_over = |told: &[String]| {
        let updated = told.iter().position(|method| method == "notifications/resources/updated");
        let after = updated.and_then(|at| told.get(at..)).unwrap_or_default();
        after.iter().any(|method| method == "notifications/resources/list_changed")
    };
    while !is_over(&told) {
        told.push(other.notice()["method"].as_str().unwrap().to_owned());
    }
    let updates = told.iter().filter(|method| *method == "notifications/resources/updated");
    assert_eq!(updates.count(), 1, "{told:?}");
    assert!(uris(&mut other).contains(&"note://more".to_owned()));
    let greeted = other
        .request("prompts/get", json!({ "name": "good__greet", "arguments": { "who": "Ann" } }));
    assert!(greeted["result"]["messages"].is_array(), "{greeted}");
    one.finish();
    other.finish();
}

/// The instance of the second client is another process, which could say anything.
#[test]
fn an_instance_that_lists_a_tool_otherwise_than_was_approved_is_sent_nothing() {
    let gateway = Remembering::new("turncoat", "");
    let (mut one, mut other) = (gateway.client(), gateway.client());
    let writes = |client: &mut Client| {
        let note = json!({
            "capability": "good.note",
            "arguments": { "text": "hello" },
            "justification": "the test writes it",
        });
        client.call("tool_execute", note)
    };
    let (failed, body) = writes(&mut one);
    assert!(!failed, "{body}");
    let (failed, body) = writes(&mut other);
    assert!(failed && body.to_string().contains("as it was approved"), "{body}");
    let (failed, body) = other.execute("good.echo", json!({ "text": "hi" }));
    assert!(!failed, "what both list alike goes on: {body}");
    one.finish();
    other.finish();
}

/// What the server of a client was told: the resources to report on, the level of its log, and how
/// often it listed its resources.
fn state(client: &mut Client) -> Value {
    serde_json::from_str(&read(client, "note://state")).unwrap()
}

fn subscribe(client: &mut Client, uri: &str) {
    let subscribed = client.request("resources/subscribe", json!({ "uri": uri }));
    assert!(subscribed["error"].is_null(), "{subscribed}");
}

fn set_level(client: &mut Client, level: &str) {
    let set = client.request("logging/setLevel", json!({ "level": level }));
    assert!(set["error"].is_null(), "{set}");
}

/// The URI of the next change of a resource that a client is told of.
fn updated(client: &mut Client) -> String {
    loop {
        let notice = client.notice();
        if notice["method"] == "notifications/resources/updated" {
            return notice["params"]["uri"].as_str().unwrap().to_owned();
        }
    }
}

/// The data of the next log message that a client hears.
fn logged(client: &mut Client) -> Value {
    loop {
        let notice = client.notice();
        if notice["method"] == "notifications/message" {
            return notice["params"].clone();
        }
    }
}

/// A client gets another process with its next run, and goes on to hear what it asked for.
#[test]
fn subscriptions_and_the_log_level_of_a_client_go_with_it_to_another_instance() {
    let gateway = Remembering::new("features", "");
    let mut one = gateway.client();
    set_level(&mut one, "debug");
    subscribe(&mut one, "note://1");
    let is_told = |client: &mut Client| {
        let state = state(client);
        (&state["subscribed"], &state["level"]) == (&json!(["note://1"]), &json!("debug"))
    };
    until("the process knows what its client wants", || is_told(&mut one));
    gateway.end_only_run();
    until("the next process knows it too", || is_told(&mut one));
    assert_eq!(read(&mut one, "note://events"), "told");
    assert_eq!(updated(&mut one), "note://1");
    one.finish();
    // The process that another client takes over is started again, with the level.
    let mut other = gateway.client();
    set_level(&mut other, "debug");
    until("the level is set", || state(&mut other)["level"] == "debug");
    assert_eq!(state(&mut other)["subscribed"], json!([]));
    other.finish();
}

#[test]
fn no_client_hears_what_changes_in_the_instance_of_another() {
    let gateway = Remembering::new("features", "");
    let mut one = gateway.client();
    subscribe(&mut one, "note://1");
    assert_eq!(read(&mut one, "note://1"), "note 1");
    gateway.end_only_run();
    // Its next run has begun, and has not called the server yet.
    one.call("tool_browse", json!({}));
    let mut other = gateway.client();
    assert_eq!(read(&mut other, "note://named"), "named");
    assert_eq!(read(&mut one, "note://events"), "told");
    assert_eq!(updated(&mut one), "note://1", "what the other's process said came first");
    one.finish();
    other.finish();
}

/// Where nobody knows whom a line of the log concerns, all who may see the server hear it.
#[test]
fn every_client_of_a_shared_server_hears_the_log_that_it_asked_for() {
    let gateway = Remembering::new("features", "instances = \"shared\"");
    let config = std::fs::read_to_string(gateway.0.path("weaver.toml")).unwrap();
    let profile = "[profiles.none]\nservers = []\n\n";
    gateway.0.write("weaver.toml", &format!("{profile}{config}"));
    let start = |more: &[&str]| Client::shim(&gateway.0, more).shaken();
    let (mut one, mut other) = (start(&[]), start(&[]));
    let (mut quiet, mut blind) = (start(&[]), start(&["--profile", "none"]));
    assert_eq!(read(&mut one, "note://1"), "note 1");
    for client in [&mut one, &mut other, &mut blind] {
        set_level(client, "error");
    }
    // No call is under way when the server logs.
    subscribe(&mut one, "note://logged");
    for client in [&mut one, &mut other] {
        let line = logged(client);
        assert_eq!((&line["level"], &line["logger"]), (&json!("error"), &json!("good/db")));
        assert!(line.to_string().contains("failed with") && !line.to_string().contains("ghp_"));
    }
    // Two calls are: it can be about either, and about nobody else.
    let stall = json!({ "name": "tool_execute", "arguments": { "capability": "good.stall" } });
    let stalled = other.begin("tools/call", stall);
    until("the call is under way", || state(&mut one)["stalled"] == 1);
    set_level(&mut quiet, "error");
    let (failed, body) = one.execute("good.ask", json!({ "text": "log" }));
    assert!(!failed, "{body}");
    logged(&mut one);
    logged(&mut other);
    let cancelled = json!({ "requestId": stalled });
    other.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }),
    );
    for client in [quiet, blind] {
        let rest = client.end().rest;
        let heard = rest.iter().any(|line| line["method"] == "notifications/message");
        assert!(!heard, "{rest:?}");
    }
    one.end();
    other.end();
}

/// What one server logs takes no place of what another reports.
#[test]
fn a_flood_of_log_messages_hides_no_change() {
    let gateway = Remembering::new("features", "");
    let mut one = gateway.client();
    assert_eq!(read(&mut one, "note://1"), "note 1");
    subscribe(&mut one, "note://1");
    set_level(&mut one, "debug");
    for _ in 0..3 {
        assert_eq!(read(&mut one, "note://flood"), "flooded");
        assert_eq!(updated(&mut one), "note://1");
    }
    one.finish();
}

/// A server that announces no changes is asked for its list when somebody lists, not with each read.
#[test]
fn reading_a_resource_lists_nothing_again() {
    let gateway = Remembering::new("unannounced", "");
    let (mut one, mut other) = (gateway.client(), gateway.client());
    assert_eq!(read(&mut one, "note://1"), "note 1");
    assert_eq!(read(&mut other, "note://1"), "note 1");
    let lists = |client: &mut Client| state(client)["lists"].as_u64().unwrap();
    let before = lists(&mut other);
    assert_eq!(read(&mut other, "note://1"), "note 1");
    assert_eq!(lists(&mut other), before);
    assert_eq!(read(&mut other, "note://events"), "told");
    assert!(uris(&mut other).contains(&"note://more".to_owned()), "a list is read anew");
    assert_eq!(lists(&mut other), before + 1);
    one.finish();
    other.finish();
}

#[test]
fn a_list_that_cannot_be_read_again_is_the_last_one() {
    for behaviour in ["features", "unannounced"] {
        let gateway = Remembering::new(behaviour, "");
        let (mut one, mut other) = (gateway.client(), gateway.client());
        assert_eq!(read(&mut one, "note://1"), "note 1");
        assert_eq!(read(&mut other, "note://1"), "note 1");
        let listed = uris(&mut other);
        assert_eq!(listed.len(), 3);
        assert_eq!(read(&mut other, "note://sullen"), "sullen");
        assert_eq!(uris(&mut other), listed, "{behaviour}");
        assert_eq!(read(&mut other, "note://1"), "note 1");
        one.finish();
        other.finish();
    }
}

/// Whoever may no longer read a resource is no longer told of its changes.
#[test]
fn subscriptions_are_decided_again_under_another_policy() {
    let folder = folder(&[("f", "features"), ("g", "features")], "", "");
    let mut client = Client::open(&folder);
    let (f, g) = ("weaver://f/note://1", "weaver://g/note://1");
    for uri in [f, g] {
        subscribe(&mut client, uri);
    }
    let update = |client: &mut Client, server: &str| {
        let (failed, body) = client.execute(&format!("{server}.ask"), json!({ "text": "update" }));
        assert!(!failed, "{body}");
    };
    update(&mut client, "f");
    assert_eq!(updated(&mut client), f);
    let deny = "[[rules]]\nname = \"not-f\"\nmatch = { capability = \"f.resources/read\" }\neffect = \"deny\"\n";
    let rules = format!("principals.owner.roles = []\n{}{deny}", crate::client::RULES);
    replace(&folder, "policy", 2, &rules);
    until("the policy is in force", || {
        !client.request("resources/read", json!({ "uri": f }))["error"].is_null()
    });
    update(&mut client, "f");
    update(&mut client, "g");
    assert_eq!(updated(&mut client), g, "what changed at the other one came first");
    client.finish();
}

/// A level stays for as long as a client wants it. The server is asked once again, for the least.
#[test]
fn the_log_level_of_a_server_is_put_back_when_the_client_that_wanted_it_goes() {
    let gateway = Remembering::new("features", "instances = \"shared\"");
    let (mut one, mut other) = (gateway.client(), gateway.client());
    let mut reader = gateway.client();
    set_level(&mut one, "error");
    until("the first level is set", || state(&mut reader)["level"] == "error");
    set_level(&mut other, "debug");
    until("the lower one is set", || state(&mut reader)["level"] == "debug");
    set_level(&mut other, "info");
    until("a client raises its own", || state(&mut reader)["level"] == "info");
    other.finish();
    until("the first one is back", || state(&mut reader)["level"] == "error");
    one.finish();
    until("nobody wants any", || state(&mut reader)["level"] == "emergency");
    reader.finish();
}

#[test]
fn an_agent_is_told_where_relative_paths_lead_unless_that_is_its_own_folder() {
    let told = |setting: &str, folder: &dyn Fn(&Remembering) -> std::path::PathBuf| {
        let servers = Remembering::new("counting", setting);
        let opened = servers.process_in(&folder(&servers)).request("initialize", initialize());
        opened["result"]["instructions"]
            .as_str()
            .unwrap()
            .contains("Tools take relative paths from /")
    };
    let elsewhere = |servers: &Remembering| servers.folder("elsewhere");
    assert!(told("", &elsewhere));
    assert!(!told("cwd = \"/\"", &elsewhere));
    assert!(!told("instances = \"folder\"", &elsewhere));
    assert!(!told("", &|servers| servers.folder(".")));
}
