//! Requires that each library, and each module file of a library, begins with a description.
//!
//! The compiler finds items without documentation.

use super::finding::Finding;
use super::sizes::{is_test_module, library_module};
use super::tree::Tree;

/// Module files that do not begin with `//!`. A `lib.rs` may include a README instead.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust() {
        let is_ours = library_module(path).is_some()
            || path.starts_with("xtask/src/")
            || path.starts_with("xtask/harness/src/");
        if !is_ours || is_test_module(path) {
            continue;
        }
        let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let includes = path.ends_with("/lib.rs") && first.starts_with("#![doc = include_str!(");
        if !includes && first.strip_prefix("//!").is_none_or(|doc| doc.trim().is_empty()) {
            let message = "the file does not begin with `//!`";
            let remedy = "say in its first line what it holds";
            findings.push(Finding::error("module doc", (path, 1), message, remedy));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    #[test]
    fn files_without_a_first_line_are_found() {
        let tree = Tree::planted(&[
            ("crates/a/src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n"),
            ("crates/a/src/b.rs", "\n//! The b.\n"),
            ("crates/a/src/c.rs", "use x::y;\n//! Late.\n"),
            ("crates/a/src/d.rs", "//!\nfn f() {}\n"),
            ("crates/a/src/e.rs", ""),
            ("crates/a/src/b/tests.rs", "use super::*;\n"),
            ("crates/a/tests/it/main.rs", "mod x;\n"),
        ]);
        let found: Vec<String> = check(&tree).into_iter().map(|f| f.path).collect();
        assert_eq!(found, ["crates/a/src/c.rs", "crates/a/src/d.rs", "crates/a/src/e.rs"]);
    }
}
