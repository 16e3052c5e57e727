//! `weaver kernel` against real servers.

use serde_json::{Value, json};
use weaver_types::DecisionKey;

use crate::client;
use crate::support::{Folder, Run};

const AGENTS: &str = "[agents.\"reader\"]\ntool_allowlist = [\"one.echo\", \"one.note\"]\n\
    safety_class_ceiling = \"read_only\"\n";

/// Servers whose tools read locally, but for `note`, which writes; and one agent.
fn folder(servers: &[(&str, &str)]) -> Folder {
    let folder = client::folder(servers, "", "");
    folder.append("policy/policy.toml", AGENTS);
    folder.sign("policy");
    folder
}

fn kernel(folder: &Folder, args: &[&str]) -> Run {
    folder.weaver(&[&["kernel"], args].concat())
}

fn ids(run: &Run) -> Vec<String> {
    let report = run.json();
    let tools = report["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn tools_are_those_of_the_contracts_by_class_and_by_agent() {
    let folder = folder(&[("one", "good"), ("two", "good")]);
    let all = kernel(&folder, &["tools", "--json"]);
    assert_eq!(all.code, 0, "{all:?}");
    let every = ids(&all);
    assert!(every.contains(&"one.echo".to_owned()) && every.contains(&"two.note".to_owned()));
    assert!(every.is_sorted(), "{every:?}");
    let report = all.json();
    let echo: &Value =
        report["tools"].as_array().unwrap().iter().find(|tool| tool["id"] == "one.echo").unwrap();
    assert_eq!((&echo["class"], &echo["rung"]), (&json!("read_only"), &json!("L0")));
    assert!(echo["fingerprint"].as_str().unwrap().starts_with("sha256:"));
    let reads = ids(&kernel(&folder, &["tools", "--safety", "read_only", "--json"]));
    assert!(reads.contains(&"two.echo".to_owned()) && !reads.contains(&"one.note".to_owned()));
    let local = ids(&kernel(&folder, &["tools", "--safety", "local_write", "--json"]));
    assert_eq!(local, every);
    let agent = ids(&kernel(&folder, &["tools", "--agent", "reader", "--json"]));
    assert_eq!(agent, ["one.echo"], "`one.note` is on the list and above the ceiling");
    assert!(ids(&kernel(&folder, &["tools", "--agent", "nobody", "--json"])).is_empty());
    let text = kernel(&folder, &["tools", "--agent", "reader"]);
    assert!(text.code == 0 && text.out.contains("one.echo") && text.out.contains("1 tool\n"));
    let wrong = kernel(&folder, &["tools", "--safety", "harmless"]);
    assert!(wrong.code != 0 && wrong.err.contains("harmless"), "{wrong:?}");
}

#[test]
fn namespaces_are_the_decision_keys_and_the_servers() {
    let folder = folder(&[("one", "absent")]);
    let run = kernel(&folder, &["namespaces", "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let report = run.json();
    let keys: Vec<&str> = report["decision_keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, DecisionKey::ALL.iter().map(|key| key.as_str()).collect::<Vec<_>>());
    assert_eq!(keys.len(), 7);
    assert_eq!(report["capabilities"], json!(["one"]));
    let text = kernel(&folder, &["namespaces"]).out;
    assert!(text.contains("kernel.tool.policy.blocked") && text.contains("one.*"), "{text}");
}

#[test]
fn info_tells_of_documents_servers_and_agents_and_connects_nothing() {
    let folder = folder(&[("one", "absent")]);
    let run = kernel(&folder, &["info", "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let report = run.json();
    assert_eq!(report["servers"], json!(["one"]));
    assert_eq!(report["contract_enforcement"], "enforce");
    assert_eq!(report["agents"]["reader"]["safety_class_ceiling"], "read_only");
    let kinds: Vec<&str> = report["documents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|document| document["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["policy", "contracts", "keys"]);
    let text = kernel(&folder, &["info"]).out;
    assert!(text.contains("reader (up to read_only, 2 patterns of tools)"), "{text}");
}
