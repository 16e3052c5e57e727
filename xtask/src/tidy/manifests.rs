//! Requires that every library crate can be published: its manifest and its accompanying files are
//! complete.

use toml::{Table, Value};

use super::finding::Finding;
use super::tree::Tree;

const RULE: &str = "manifest";
// `repository` is added when the project has a public address: see `docs/internals/release.md`.
const REQUIRED_KEYS: [&str; 8] = [
    "description", "license", "readme", "documentation", "rust-version", "include", "keywords",
    "categories",
];
const REQUIRED_FILES: [&str; 3] = ["README.md", "CHANGELOG.md", "LICENSE"];

/// Missing keys and missing files.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in tree.crates() {
        let path = format!("{folder}/Cargo.toml");
        let text = tree.text(&path).unwrap_or_default();
        let place = (path.as_str(), 1);
        let Ok(manifest) = text.parse::<Table>() else {
            findings.push(Finding::error(RULE, place, "not TOML", "correct it"));
            continue;
        };
        check_keys(&manifest, place, &mut findings);
        for paper in REQUIRED_FILES {
            if !tree.has(&format!("{folder}/{paper}")) {
                let message = format!("{paper} is missing");
                findings.push(Finding::error(RULE, place, message, "each crate carries its own"));
            }
        }
    }
    findings
}

fn check_keys(manifest: &Table, place: (&str, usize), findings: &mut Vec<Finding>) {
    for key in REQUIRED_KEYS {
        let value = manifest.get("package").and_then(|package| package.get(key));
        if value.is_none_or(is_empty) {
            let message = format!("`{key}` is missing under [package]");
            findings.push(Finding::error(RULE, place, message, "publishing needs it"));
        }
    }
    let package = manifest.get("package");
    let docs_rs = package.and_then(|package| package.get("metadata")?.get("docs")?.get("rs"));
    let all_features = docs_rs.and_then(|docs_rs| docs_rs.get("all-features"));
    if all_features.and_then(Value::as_bool) != Some(true) {
        let message = "docs.rs shows the default features alone";
        let remedy = "add [package.metadata.docs.rs] with `all-features = true`";
        findings.push(Finding::error(RULE, place, message, remedy));
    }
    let inherits = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    // The one crate with unsafe code has the lints of the workspace apart from that (decision 26).
    let has_own_lints = package.and_then(|package| package.get("name")?.as_str());
    let has_own_lints = has_own_lints == Some("weaver-windows");
    if !has_own_lints && inherits.and_then(Value::as_bool) != Some(true) {
        let message = "the crate does not follow the lints of the workspace";
        let remedy = "add [lints] with `workspace = true`";
        findings.push(Finding::error(RULE, place, message, remedy));
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_str().is_some_and(str::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::{REQUIRED_KEYS, check};
    use crate::tidy::tree::Tree;

    const GOOD: &str = "[package]\nname = \"a\"\ndescription = \"d\"\nlicense.workspace = true\n\
        readme = \"README.md\"\ndocumentation = \"u\"\nrust-version.workspace = true\n\
        include = [\"/src/**/*\"]\nkeywords = [\"k\"]\ncategories = [\"c\"]\n\
        [package.metadata.docs.rs]\nall-features = true\n[lints]\nworkspace = true\n";

    fn messages(manifest: &str) -> Vec<String> {
        let tree = Tree::planted(&[
            ("crates/a/Cargo.toml", manifest),
            ("crates/a/README.md", ""),
            ("crates/a/CHANGELOG.md", ""),
            ("crates/a/LICENSE", ""),
        ]);
        check(&tree).into_iter().map(|f| f.message).collect()
    }

    #[test]
    fn a_complete_manifest_passes() {
        assert_eq!(messages(GOOD), Vec::<String>::new());
    }

    #[test]
    fn each_missing_key_is_found() {
        for key in REQUIRED_KEYS {
            let without: Vec<&str> = GOOD.lines().filter(|l| !l.starts_with(key)).collect();
            let found = messages(&without.join("\n"));
            assert_eq!(found, [format!("`{key}` is missing under [package]")]);
        }
        assert_eq!(messages(&GOOD.replace("[lints]", "[other]")).len(), 1);
        for (from, to) in
            [("all-features = true", ""), ("all-features = true", "all-features = false")]
        {
            let found = messages(&GOOD.replace(from, to));
            assert_eq!(found, ["docs.rs shows the default features alone"]);
        }
        assert_eq!(messages("[package").len(), 1);
    }

    #[test]
    fn missing_papers_are_found() {
        let found = check(&Tree::planted(&[("crates/a/Cargo.toml", GOOD)]));
        assert_eq!(found.len(), 3);
    }
}
