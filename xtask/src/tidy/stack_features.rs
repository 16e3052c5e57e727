//! Requires that the umbrella crate forwards every feature of the crates that it re-exports.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::finding::Finding;
use super::tree::Tree;

const RULE: &str = "umbrella feature";
const PATH: &str = "crates/weaver/Cargo.toml";

/// Features of re-exported crates that no feature of the umbrella crate enables.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(umbrella) = table(tree, PATH) else { return Vec::new() };
    let forwarded = forwarded_features(&umbrella);
    let dependencies: BTreeSet<&str> = keys(&umbrella, "dependencies").collect();
    let mut findings = Vec::new();
    for folder in tree.crates() {
        let Some(manifest) = table(tree, &format!("{folder}/Cargo.toml")) else { continue };
        let name = manifest.get("package").and_then(|package| package.get("name"));
        let Some(name) = name.and_then(Value::as_str).filter(|name| dependencies.contains(name))
        else {
            continue;
        };
        for feature in keys(&manifest, "features").filter(|feature| *feature != "default") {
            if !forwarded.contains(&format!("{name}/{feature}")) {
                let message = format!("no feature turns on `{name}/{feature}`");
                let remedy = "add one, with a comment that says what it brings";
                findings.push(Finding::error(RULE, (PATH, 1), message, remedy));
            }
        }
    }
    findings
}

fn table(tree: &Tree, path: &str) -> Option<Table> {
    tree.text(path)?.parse().ok()
}

fn keys<'t>(manifest: &'t Table, section: &str) -> impl Iterator<Item = &'t str> {
    let section = manifest.get(section).and_then(Value::as_table);
    section.into_iter().flat_map(|section| section.keys()).map(String::as_str)
}

/// The features of other crates that the features enable, as `crate/feature`.
fn forwarded_features(manifest: &Table) -> BTreeSet<String> {
    let features = manifest.get("features").and_then(Value::as_table).into_iter();
    let values = features.flat_map(Table::values).filter_map(Value::as_array).flatten();
    values.filter_map(Value::as_str).map(|value| value.replace('?', "")).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    fn messages(features: &str) -> Vec<String> {
        let umbrella = format!(
            "[package]\nname = \"u\"\n[features]\n{features}\n[dependencies]\na.workspace = true\n"
        );
        let gathered = "[package]\nname = \"a\"\n[features]\ndefault = []\nx = []\ny = []\n";
        let other = "[package]\nname = \"b\"\n[features]\nz = []\n";
        let tree = Tree::planted(&[
            ("crates/weaver/Cargo.toml", umbrella.as_str()),
            ("crates/a/Cargo.toml", gathered),
            ("crates/b/Cargo.toml", other),
        ]);
        check(&tree).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_feature_that_is_not_forwarded_is_found() {
        assert_eq!(messages("x = [\"a/x\"]\ny = [\"a?/y\"]"), Vec::<String>::new());
        assert_eq!(messages("x = [\"a/x\"]"), ["no feature turns on `a/y`"]);
    }
}
