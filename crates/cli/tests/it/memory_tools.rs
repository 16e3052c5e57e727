//! Durable memory as tools of the gateway, over real pipes and a real file.

use serde_json::{Value, json};
use weaver_gateway::config;

use crate::client::{self, Client, shown};
use crate::support::{Folder, weaver};

/// What a web page says is not trusted; a message may go out unless something untrusted was read.
const CONTRACTS: &str = "[capabilities.\"files.people\"]\n\
    output = { confidentiality = \"internal\", integrity = \"untrusted\" }\n\n\
    [capabilities.\"files.send\"]\neffects = \"write_open\"\nrung = \"L3\"\nlower_rung = true\n\
    sink = \"external_send\"\n\n";

/// A folder whose gateway offers memory, with these settings of the section.
fn folder(memory: &str) -> Folder {
    let folder = client::folder(&[("files", "good")], "", CONTRACTS);
    folder.append("weaver.toml", &format!("\n[memory]\n{memory}\n"));
    folder
}

/// Another folder over the memory of this one.
fn beside(first: &Folder) -> Folder {
    let file = toml::Value::from(first.arg(".weaver/ledger.db.memory"));
    folder(&format!("file = {file}"))
}

fn put(client: &mut Client, arguments: Value) -> (bool, Value) {
    let call = json!({"capability": "kernel.memory.put", "arguments": arguments,
        "justification": "the user will want it again"});
    client.call("tool_execute", call)
}

fn remember(client: &mut Client, arguments: Value) {
    let (is_error, body) = put(client, arguments);
    assert!(!is_error, "{body}");
}

fn read(client: &mut Client, capability: &str, arguments: Value) -> Value {
    let (is_error, body) = client.execute(capability, arguments);
    assert!(!is_error, "{body}");
    body
}

fn send(client: &mut Client) -> (bool, Value) {
    client.execute("files.send", json!({"to": "team", "text": "hello"}))
}

/// The decision keys of the log, without those of the calls themselves.
fn keys(folder: &Folder) -> Vec<String> {
    let events = client::events(folder);
    let keys = events.iter().filter_map(|(_, event)| event["decision_key"].as_str());
    keys.filter(|key| key.starts_with("kernel.memory.")).map(str::to_owned).collect()
}

#[test]
fn what_came_from_untrusted_output_is_untrusted_in_later_processes() {
    let first = folder("");
    let mut client = Client::open(&first);
    let (_, found) = client.call("tool_browse", json!({"query": "remember a fact for later"}));
    assert!(found.to_string().contains("kernel.memory.put"), "{found}");
    remember(&mut client, json!({"key": "zone", "value": "UTC"}));
    read(&mut client, "files.people", json!({}));
    remember(&mut client, json!({"key": "office", "value": "Oslo", "source": "user"}));
    remember(&mut client, json!({"key": "office", "value": "Oslo", "kind": "fact"}));
    remember(&mut client, json!({"value": "Read about the office in Oslo", "kind": "episode"}));
    client.finish();
    assert_eq!(keys(&first), ["kernel.memory.put"; 4]);

    let clean = beside(&first);
    let mut client = Client::open(&clean);
    let body = read(&mut client, "kernel.memory.get", json!({"key": "zone"}));
    assert!(shown(&body).contains("UTC"), "{body}");
    let (is_error, body) = send(&mut client);
    assert!(!is_error, "nothing untrusted was read: {body}");
    client.finish();
    assert_eq!(keys(&clean), ["kernel.memory.get"]);

    for (capability, arguments) in [
        ("kernel.memory.get", json!({"key": "office"})),
        ("kernel.memory.get", json!({"key": "office", "kind": "fact"})),
        ("kernel.memory.recall", json!({"query": "where is the office?"})),
    ] {
        let later = beside(&first);
        let mut client = Client::open(&later);
        let body = read(&mut client, capability, arguments);
        assert!(body.to_string().contains("Oslo"), "{body}");
        let (is_error, body) = send(&mut client);
        assert!(is_error, "{capability}: {body}");
        let why = ("hold".to_owned(), "untrusted_influence".to_owned());
        let said = (body["verdict"].as_str(), body["obstacles"][0]["reason"].as_str());
        assert_eq!(said, (Some(why.0.as_str()), Some(why.1.as_str())), "{body}");
        client.finish();
    }
    let run = weaver(&[
        "memory",
        "get",
        "office",
        "--store",
        &first.arg(".weaver/ledger.db.memory"),
        "--json",
    ]);
    let entry = &run.json()["entry"];
    assert_eq!(entry["label"]["integrity"], "untrusted");
    assert_eq!(entry["source"], "model:user", "a model speaks for nobody else");
    assert!(!entry["origin"]["run"].is_null() && !entry["origin"]["call"].is_null(), "{entry}");
}

#[test]
fn policy_decides_what_is_remembered_and_the_floor_what_is_forgotten() {
    let folder = folder("");
    let rule = "[[rules]]\nname = \"careful\"\nreason = \"an untrusted run asks first\"\n\
        match = { capability = [\"kernel.memory.put\"], label = { integrity = [\"untrusted\"] } }\n\
        effect = \"require_approval\"\n\
        [[rules]]\nname = \"forgets\"\nreason = \"the floor holds it anyway\"\n\
        match = { capability = [\"kernel.memory.delete\"] }\neffect = \"allow\"\n";
    client::replace(
        &folder,
        "policy",
        2,
        &format!("principals.owner.roles = []\n{rule}{}", client::RULES),
    );
    let mut client = Client::open(&folder);
    let (verdict, _) = client.refusal("kernel.memory.put", json!({"key": "a", "value": 1}));
    assert_eq!(verdict, "ask", "a reason is wanted, as for every write");
    let (is_error, body) = put(&mut client, json!({"key": "a", "value": 1, "label": "trusted"}));
    assert!(is_error && body["reason"] == "invalid_arguments", "a model sets no label: {body}");
    remember(&mut client, json!({"key": "a", "value": 1}));
    read(&mut client, "files.people", json!({}));
    let (is_error, body) = put(&mut client, json!({"key": "b", "value": 2}));
    assert!(is_error && body["verdict"] == "hold", "{body}");
    let (verdict, _) = client.refusal("kernel.memory.delete", json!({"key": "a"}));
    assert_eq!(verdict, "hold", "forgetting is destructive");
    client.finish();
    let run = folder.weaver(&["memory", "list", "--json"]);
    assert_eq!(run.json()["entries"].as_array().map(Vec::len), Some(1), "{run:?}");
}

#[test]
fn the_proxy_lists_memory_under_names_of_its_own() {
    let folder = client::folder(&[("files", "good")], "[gateway]\nmode = \"proxy\"", CONTRACTS);
    folder.append("weaver.toml", "\n[memory]\n");
    let mut client = Client::open(&folder);
    let tools = client.tools();
    let named = |id: &str| tools.iter().find(|tool| tool["title"] == id).unwrap();
    for word in ["put", "get", "recall", "delete"] {
        let tool = named(&format!("kernel.memory.{word}"));
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert!(!tool["description"].as_str().unwrap().is_empty());
    }
    let recall = named("kernel.memory.recall")["name"].as_str().unwrap();
    let (is_error, body) = client.call(recall, json!({"query": "anything"}));
    assert!(!is_error, "{body}");
    client.finish();
}

#[test]
fn without_the_section_there_is_no_memory() {
    let folder = client::folder(&[("files", "good")], "", CONTRACTS);
    let mut client = Client::open(&folder);
    let (_, found) = client.call("tool_browse", json!({"query": "remember a fact for later"}));
    assert!(!found.to_string().contains("kernel.memory"), "{found}");
    let why = client.refusal("kernel.memory.get", json!({"key": "a"}));
    assert_eq!(why, ("deny".to_owned(), "not_found".to_owned()));
    client.finish();
    assert!(!folder.path(".weaver/ledger.db.memory").exists());
}

#[test]
fn the_caps_of_the_section_hold() {
    let folder = folder("values = 1\nvalue_bytes = 64");
    let mut client = Client::open(&folder);
    remember(&mut client, json!({"key": "a", "value": 1}));
    let (is_error, body) = put(&mut client, json!({"key": "b", "value": 2}));
    assert!(is_error && body.to_string().contains("memory holds 1 values"), "{body}");
    let (is_error, body) = put(&mut client, json!({"key": "a", "value": "x".repeat(80)}));
    assert!(is_error && body.to_string().contains("at most 64 are allowed"), "{body}");
    client.finish();
    let put = ["memory", "put", "c", "3", "--config", &folder.arg("weaver.toml"), "--json"];
    assert!(weaver(&put).err.contains("memory.full"), "nor from the command line");
}

#[test]
fn the_section_is_checked_and_its_file_kept_from_servers() {
    for (settings, part) in [
        ("[memory]\nfile = \".weaver/ledger.db\"\n", "not a file for memory"),
        ("[memory]\nvalues = 0\n", "out of range"),
        ("[memory]\nepisodes = 1001\n", "out of range"),
        ("[memory]\nfiles = \"x\"\n", "files"),
        ("[memory]\n[mcpServers.kernel]\ncommand = \"x\"\n", "a server is called `kernel`"),
    ] {
        let folder = client::folder(&[], "", "");
        folder.append("weaver.toml", &format!("\n{settings}"));
        let run = folder.check(&[]);
        assert_eq!(run.code, 3, "{settings}: {run:?}");
        assert!(run.err.contains(part), "{settings}: {run:?}");
    }
    // Memory alone is enough to serve.
    let folder = client::folder(&[], "", "");
    folder.append("weaver.toml", "\n[memory]\nfile = \"remembered.db\"\nfacts = 7\n");
    let checked = folder.check(&["--json"]).json();
    assert_eq!(checked["memory"]["file"], folder.arg("remembered.db"));
    assert_eq!(checked["memory"]["facts"], 7);
    assert!(folder.check(&[]).out.contains("remembered.db"));
    let state = config::load(folder.path("weaver.toml")).unwrap().state_paths();
    for end in ["", "-wal", "-shm", "-journal"] {
        assert!(state.contains(&folder.path(&format!("remembered.db{end}"))), "{end}");
    }
}
