//! The page of `docs/reference/` about the configuration.

use std::fs;
use std::path::Path;

use weaver_gateway::config::{Sharing, Transport};

use crate::folder::{Folder, root_key};

#[test]
fn the_documented_configuration_is_accepted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/config.md");
    let page = fs::read_to_string(path).unwrap();
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let folder = Folder::new();
    folder.write("weaver.toml", &text.replace("ed25519:…", &root_key()));
    folder.write("count.schema.json", "{ \"type\": \"object\" }");
    let home = |name: &str| (name == "HOME").then(|| "/home/ann".to_owned());
    let config = weaver_gateway::config::load_with(folder.path("weaver.toml"), &home).unwrap();
    let instances: Vec<_> =
        config.upstreams.iter().map(|one| (one.name.as_str(), one.sharing)).collect();
    let (client, folder) = (Sharing::Client, Sharing::Folder);
    assert_eq!(instances, [("files", client), ("project", folder)]);
    let Transport::Stdio { args, .. } = &config.upstreams[1].transport else {
        panic!("no program")
    };
    assert_eq!(args[2], weaver_gateway::config::WORKSPACE_FOLDER);
    assert_eq!(config.run.budget.max_tool_calls, Some(200));
    assert_eq!(config.run.budget.max_cost, Some(weaver_types::Millicents(50_000)));
    assert_eq!(config.upstreams[0].limits.calls, Some(64));
    let tools: Vec<&str> = config.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["count", "weather"]);
}
