//! The tests that the documents name exist.
//!
//! A reference is code in backticks of the form `path/to/file.rs::test_fn`, with the path from
//! the root of the repository. Modules may stand between: `path/to/file.rs::tests::test_fn`. The
//! file must exist and hold `fn test_fn`. Other code in backticks is not a reference. Every page
//! under `docs/` is read.

use super::finding::Finding;
use super::rust_text::{code, is_ident};
use super::tree::Tree;

const RULE: &str = "named test";

/// References to files or tests that are not there.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let pages = tree.texts().filter(|(path, _)| path.starts_with("docs/") && path.ends_with(".md"));
    for (document, text) in pages {
        for (number, line) in text.lines().enumerate() {
            for (path, test) in references(line) {
                let message = match tree.text(path) {
                    None => format!("`{path}` does not exist"),
                    Some(text) if !has_function(text, test) => {
                        format!("`{path}` has no test `{test}`")
                    }
                    Some(_) => continue,
                };
                let remedy = "correct the reference or write the test";
                findings.push(Finding::error(RULE, (document, number + 1), message, remedy));
            }
        }
    }
    findings
}

/// File and test of every reference in the line.
fn references(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split('`').skip(1).step_by(2).filter_map(|span| {
        let at = span.find(".rs::")?;
        let (path, rest) = span.split_at_checked(at + ".rs".len())?;
        let test = rest.rsplit("::").next()?;
        Some((path, test))
    })
}

fn has_function(text: &str, name: &str) -> bool {
    let text = code(text);
    !name.is_empty()
        && text.match_indices("fn ").any(|(offset, keyword)| {
            let before = text.get(..offset).and_then(|head| head.chars().next_back());
            let after = text.get(offset + keyword.len()..).unwrap_or_default().trim_start();
            let found = after.strip_prefix(name).is_some_and(|rest| !rest.starts_with(is_ident));
            found && !before.is_some_and(is_ident)
        })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    fn messages(document: &str) -> Vec<String> {
        let tree = Tree::planted(&[
            ("docs/shelf/page.md", document),
            ("crates/a/tests/it/b.rs", "// fn commented()\n#[test]\nfn holds() {}\n"),
        ]);
        check(&tree).into_iter().map(|f| f.message).collect()
    }

    #[test]
    fn existing_tests_pass() {
        let text =
            "| x | `crates/a/tests/it/b.rs::holds`, `crates/a/tests/it/b.rs::m::holds` | `a::B` |";
        assert_eq!(messages(text), Vec::<String>::new());
    }

    #[test]
    fn missing_tests_and_files_are_found() {
        let found = messages(
            "`crates/a/tests/it/b.rs::hold`\n`crates/a/tests/it/b.rs::commented`\n`c.rs::holds`\n",
        );
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().any(|m| m == "`c.rs` does not exist"), "{found:?}");
    }

    #[test]
    fn other_files_are_not_read() {
        let tree = Tree::planted(&[
            ("CHANGELOG.md", "`gone.rs::holds`"),
            ("docs/picture.svg", "`gone.rs::holds`"),
        ]);
        assert!(check(&tree).is_empty());
    }
}
