//! Requires that files and module trees stay small enough to read.
//!
//! Counts the lines of `crates/*/src`. Test modules (`tests.rs`, and files below `tests/`) are
//! exempt.

use super::finding::Finding;
use super::tree::Tree;

const RULE: &str = "size";
const WARN_LINES: usize = 400;
const MAX_LINES: usize = 800;
const MAX_LIB_LINES: usize = 120;
const MAX_DEPTH: usize = 3;

/// Files, `lib.rs` files and module paths that are too long.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust() {
        let Some(module) = library_module(path) else { continue };
        if is_test_module(path) {
            continue;
        }
        let lines = text.lines().count();
        let place = (path, lines.max(1));
        if module == "lib.rs" && lines > MAX_LIB_LINES {
            let message = format!("{lines} lines, a lib.rs has at most {MAX_LIB_LINES}");
            let remedy = "keep the crate doc, the modules and the re-exports; move the rest";
            findings.push(Finding::error(RULE, place, message, remedy));
        }
        if lines > WARN_LINES {
            let message = format!("{lines} lines, the limit is {MAX_LINES}, {WARN_LINES} is a lot");
            let finding = Finding::error(RULE, place, message, "split it by noun");
            findings.push(if lines > MAX_LINES { finding } else { finding.warning() });
        }
        let depth = depth(module);
        if depth > MAX_DEPTH {
            let message = format!("a module {depth} levels deep, the limit is {MAX_DEPTH}");
            findings.push(Finding::error(RULE, (path, 1), message, "move it up"));
        }
    }
    findings
}

/// The part of the path below `crates/NAME/src/`.
pub fn library_module(path: &str) -> Option<&str> {
    let (_, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    rest.strip_prefix("src/")
}

/// Whether the file contains only tests.
pub fn is_test_module(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// The depth of a module: `a/b/c.rs` is `a::b::c`, three levels deep; `mod.rs` adds no level.
fn depth(module: &str) -> usize {
    module.split('/').filter(|part| *part != "mod.rs").count()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::finding::{Finding, Severity};
    use crate::tidy::tree::Tree;

    fn lines(path: &str, count: usize) -> Vec<Finding> {
        check(&Tree::planted(&[(path, &"//! x\n".repeat(count))]))
    }

    #[test]
    fn long_files_warn_then_fail() {
        assert!(lines("crates/a/src/b.rs", 400).is_empty());
        assert_eq!(lines("crates/a/src/b.rs", 401).first().unwrap().severity, Severity::Warning);
        assert_eq!(lines("crates/a/src/b.rs", 801).first().unwrap().severity, Severity::Error);
    }

    #[test]
    fn a_long_lib_fails() {
        assert!(lines("crates/a/src/lib.rs", 120).is_empty());
        assert_eq!(lines("crates/a/src/lib.rs", 121).first().unwrap().severity, Severity::Error);
    }

    #[test]
    fn tests_are_exempt() {
        assert!(lines("crates/a/src/b/tests.rs", 2000).is_empty());
        assert!(lines("crates/a/tests/it/b.rs", 2000).is_empty());
    }

    #[test]
    fn deep_modules_fail() {
        assert!(lines("crates/a/src/b/c/d.rs", 1).is_empty());
        assert!(lines("crates/a/src/b/c/d/mod.rs", 1).is_empty());
        assert_eq!(lines("crates/a/src/b/c/d/e.rs", 1).len(), 1);
    }
}
