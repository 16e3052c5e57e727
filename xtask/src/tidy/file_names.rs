//! Requires that a Rust file is named after what it contains, and that a module with children is
//! `foo.rs` beside `foo/`.

use super::finding::Finding;
use super::lists::Lists;
use super::tree::Tree;

/// Rust files and module folders with a meaningless name.
pub fn check(tree: &Tree, lists: &Lists) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _) in tree.rust() {
        let Some(stem) = path.strip_suffix(".rs") else { continue };
        let parts: Vec<&str> = stem.split('/').collect();
        if path.starts_with("crates/") && parts.last() == Some(&"mod") {
            let message = "`mod.rs` is named for nothing".to_owned();
            let remedy = "name the file for its module, beside the folder: `foo.rs` and `foo/`";
            findings.push(Finding::error("file name", (path, 1), message, remedy));
        }
        for (name, reason) in &lists.file_names {
            if parts.contains(&name.as_str()) {
                let message = format!("`{name}` says nothing of what is inside: {reason}");
                let remedy = "name it for what it holds";
                findings.push(Finding::error("file name", (path, 1), message, remedy));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::lists::Lists;
    use crate::tidy::tree::Tree;

    #[test]
    fn a_module_has_its_name_in_its_file() {
        let tree = Tree::planted(&[("crates/a/src/b/mod.rs", ""), ("crates/a/src/c.rs", "")]);
        let lists = Lists::parse(include_str!("../../data/tidy.toml")).unwrap();
        let found: Vec<String> = check(&tree, &lists).into_iter().map(|f| f.path).collect();
        assert_eq!(found, ["crates/a/src/b/mod.rs"]);
    }

    #[test]
    fn empty_names_are_found() {
        let tree = Tree::planted(&[
            ("crates/a/src/utils.rs", ""),
            ("crates/a/src/model/row.rs", ""),
            ("crates/weaver-types/src/label.rs", ""),
            ("crates/a/src/data_types.rs", ""),
        ]);
        let lists = Lists::parse(include_str!("../../data/tidy.toml")).unwrap();
        let found: Vec<String> = check(&tree, &lists).into_iter().map(|f| f.path).collect();
        assert_eq!(found, ["crates/a/src/model/row.rs", "crates/a/src/utils.rs"]);
    }
}
