//! The documents in the guide load, put together as the guide says: blocks of one file, in their
//! order, are that file.

use std::collections::BTreeMap;

use weaver_stack::policy::{DocumentSource, DocumentSources, LoadError, PolicySet};
use weaver_stack::types::{PrincipalId, Timestamp};

const GUIDE: &str = include_str!("../../docs/guide/getting-started.md");

/// The agent that the guide shows.
const AGENT: &str = include_str!("../agent.rs");
/// The most lines that a whole agent takes.
const AGENT_LINES: usize = 120;

/// What stands for a digest or a key that the reader has.
const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// The text of each file, by its name.
fn files() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for block in GUIDE.split("\n```toml\n").skip(1) {
        let block = block.split("\n```").next().unwrap();
        let (name, text) = block.split_once('\n').unwrap();
        let name = name.strip_prefix("# ").unwrap_or_else(|| panic!("no file name: {name}"));
        let file: &mut String = files.entry(name.to_owned()).or_default();
        file.push_str(&text.replace("sha256:…", DIGEST));
        file.push('\n');
    }
    files
}

fn load() -> Result<PolicySet, LoadError> {
    let files = files();
    let source = |name: &'static str| DocumentSource::unsigned(name, &files[name]);
    let sources = DocumentSources {
        policy: source("policy.toml"),
        contracts: source("contracts.toml"),
        keys: source("keys.toml"),
    };
    PolicySet::load_unsigned_development(&sources, Timestamp::from_micros(1_767_225_600_000_000))
}

#[test]
fn every_block_names_its_file() {
    let names: Vec<String> = files().into_keys().collect();
    let known = ["Cargo.toml", "contracts.toml", "keys.toml", "policy.toml", "weaver.toml"];
    assert_eq!(names, known);
}

#[test]
fn the_documents_load_and_name_the_principal() {
    let set = load().unwrap();
    assert!(set.principal(&PrincipalId::parse("owner").unwrap()).unwrap().has_role("writer"));
    assert_eq!(set.policy().rules.len(), 7);
    let named: Vec<&str> = set.contracts().capabilities.keys().map(|key| key.as_str()).collect();
    assert!(named.contains(&"files.read_text_file"), "{named:?}");
}

#[test]
fn the_guide_shows_the_agent_as_it_is() {
    let (_, rest) = GUIDE.split_once("\n### A whole agent\n").unwrap();
    let (_, block) = rest.split_once("\n```rust\n").unwrap();
    let (shown, _) = block.split_once("\n```").unwrap();
    assert!(shown == AGENT.trim_end(), "copy `examples/agent.rs` into the guide");
    let lines = AGENT.lines().count();
    assert!(lines <= AGENT_LINES, "{lines}");
    assert!(!AGENT.contains("weaver_examples"), "it stands alone");
}
