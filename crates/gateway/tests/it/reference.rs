//! The page of `docs/reference/` about the configuration.

use std::fs;

use weaver_gateway::config::{InstanceSharing, TransportSettings};

use crate::folder::{Folder, root_key};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/config.md");

/// Run with `WEAVER_BLESS=1` to write the tables again.
#[test]
fn every_key_is_on_the_page() {
    let page = fs::read_to_string(PAGE).unwrap();
    let (head, _) = page.split_once("\n## Every key\n").unwrap();
    let whole = format!("{head}\n## Every key\n{}", weaver_gateway::config::reference());
    if std::env::var_os("WEAVER_BLESS").is_some() {
        fs::write(PAGE, &whole).unwrap();
    }
    assert!(fs::read_to_string(PAGE).unwrap() == whole, "WEAVER_BLESS=1 writes the tables");
}

#[test]
fn the_documented_configuration_is_accepted() {
    let page = fs::read_to_string(PAGE).unwrap();
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let schema = jsonschema::validator_for(&weaver_gateway::config::json_schema()).unwrap();
    let form: serde_json::Value = toml::from_str(text).unwrap();
    let wrong: Vec<String> = schema.iter_errors(&form).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let folder = Folder::new();
    folder.write("weaver.toml", &text.replace("ed25519:…", &root_key()));
    folder.write("count.schema.json", "{ \"type\": \"object\" }");
    let home = |name: &str| (name == "HOME").then(|| "/home/ann".to_owned());
    let config = weaver_gateway::config::load_with(folder.path("weaver.toml"), &home).unwrap();
    let instances: Vec<_> =
        config.upstreams.iter().map(|one| (one.name.as_str(), one.sharing)).collect();
    let (client, folder) = (InstanceSharing::Client, InstanceSharing::Folder);
    assert_eq!(instances, [("files", client), ("project", folder)]);
    let TransportSettings::Stdio { args, .. } = &config.upstreams[1].transport else {
        panic!("no program")
    };
    assert_eq!(args[2], weaver_gateway::config::WORKSPACE_FOLDER);
    assert_eq!(config.run.budget.max_tool_calls, Some(200));
    assert_eq!(config.run.budget.max_cost, Some(weaver_types::Millicents(50_000)));
    assert_eq!(config.upstreams[0].limits.calls, Some(64));
    let tools: Vec<&str> = config.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["count", "weather"]);
}
