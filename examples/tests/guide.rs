//! The documents in the guide load, put together as the guide says: blocks of one file, in their
//! order, are that file.

use std::collections::BTreeMap;

use weaver_stack::policy::{LoadError, PolicySet, Source, Sources};
use weaver_stack::types::{PrincipalId, Timestamp};

const GUIDE: &str = include_str!("../../docs/guide/getting-started.md");

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
    let source = |name: &'static str| Source::unsigned(name, &files[name]);
    let sources = Sources {
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
