//! The pages of `docs/reference/` are those that the code gives.

use std::fs;
use std::path::Path;

use weaver_gateway::cli::reference;

fn is_current(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("WEAVER_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "docs/reference/{name} is out of date; run \
         `WEAVER_BLESS=1 cargo test -p weaver-gateway --test it reference`"
    );
}

#[test]
fn exit_codes_are_documented() {
    is_current("exit-codes.md", &reference::exit_codes());
}

#[test]
fn reason_codes_are_documented() {
    is_current("reason-codes.md", &reference::reason_codes());
}

#[test]
fn the_documented_configuration_is_accepted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/config.md");
    let page = fs::read_to_string(path).unwrap();
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let key = weaver_types::signature::SigningKey::from_seed([7; 32]).public();
    let folder = crate::support::Folder::new();
    folder.write("weaver.toml", &text.replace("ed25519:…", &key.to_string()));
    folder.write("count.schema.json", "{ \"type\": \"object\" }");
    let home = |name: &str| (name == "HOME").then(|| "/home/ann".to_owned());
    let config = weaver_gateway::config::load_with(folder.path("weaver.toml"), &home).unwrap();
    assert_eq!(config.upstreams.len(), 1);
    assert_eq!(config.run.budget.max_tool_calls, Some(200));
    assert_eq!(config.run.budget.max_cost, Some(weaver_types::Millicents(50_000)));
    assert_eq!(config.upstreams[0].limits.calls, Some(64));
    let tools: Vec<&str> = config.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["count", "weather"]);
}
