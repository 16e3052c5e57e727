//! Requires that the pages for developers name code that exists.
//!
//! A name is code in backticks that can only be a name of the sources: a path (`Kernel::expand`), a
//! name with an underscore between small letters (`expand_isolated`), or one with a capital inside
//! (`EventKind`), also with parentheses behind it. Each of its parts must occur in a source file or
//! in data of the workspace. Blocks of code are examples of what a reader will write, and not read.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::rust_text::is_ident;
use super::tree::Tree;

const RULE: &str = "page name";
/// The pages that lead a developer through the sources.
const PAGES: [&str; 3] =
    ["docs/CONTRIBUTING.md", "docs/guide/recipes.md", "docs/internals/architecture.md"];

/// Names on the pages that no source file has.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let is_source = |path: &str| [".rs", ".toml", ".json"].iter().any(|end| path.ends_with(end));
    let sources = tree.texts().filter(|(path, _)| is_source(path));
    let known: BTreeSet<&str> =
        sources.flat_map(|(_, text)| text.split(|c| !is_ident(c))).collect();
    let mut findings = Vec::new();
    for page in PAGES {
        let mut is_block = false;
        for (number, line) in tree.text(page).unwrap_or_default().lines().enumerate() {
            is_block ^= line.starts_with("```");
            let spans = line.split('`').skip(1).step_by(2).filter(|_| !is_block);
            for part in spans.flat_map(name_parts).filter(|part| !known.contains(part)) {
                let message = format!("`{part}` occurs in no source");
                let remedy = "write the name that the code has now";
                findings.push(Finding::error(RULE, (page, number + 1), message, remedy));
            }
        }
    }
    findings
}

/// The parts of a name; none if the code in backticks may be something else.
fn name_parts(span: &str) -> Vec<&str> {
    let name = span.split('(').next().unwrap_or_default();
    let parts: Vec<&str> = name.split("::").collect();
    let is_part = |part: &&str| !part.is_empty() && part.chars().all(is_ident);
    let is_name = parts.iter().all(is_part) && (parts.len() > 1 || is_of_the_sources(name));
    if is_name { parts } else { Vec::new() }
}

/// Whether a word has the form of a name of the sources, as no word of English has.
fn is_of_the_sources(word: &str) -> bool {
    let chars: Vec<char> = word.chars().collect();
    chars.windows(2).any(|pair| match pair {
        [first, second] => first.is_ascii_lowercase() && second.is_ascii_uppercase(),
        _ => false,
    }) || chars.windows(3).any(|three| match three {
        [first, '_', third] => first.is_ascii_lowercase() && third.is_ascii_lowercase(),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(page: &str) -> Vec<String> {
        let source = "pub struct EventKind;\nimpl Kernel { fn expand_all() {} }\n";
        let tree = Tree::planted(&[("crates/a/src/lib.rs", source), (PAGES[1], page)]);
        check(&tree).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn names_of_the_sources_pass() {
        assert_eq!(messages("`EventKind`, `Kernel::expand_all`, `expand_all(now)`"), [""; 0]);
    }

    #[test]
    fn names_that_are_gone_are_found() {
        let found = messages("`EventSort`, and\n`Kernel::expanded` or `expand_some()`");
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], "`EventSort` occurs in no source");
    }

    #[test]
    fn what_is_no_name_is_not_read() {
        let other =
            "`weaver-cli`, `cargo xtask tidy`, `a/b_c.rs`, `NAME`\n```rust\n`no_such`\n```\n";
        assert_eq!(messages(other), [""; 0]);
    }
}
