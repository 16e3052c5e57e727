//! Requires that the relative links of the Markdown pages have a target.
//!
//! A link `[text](path#heading)` outside of code is checked. The path is relative to the page; the
//! file or folder must exist, and in a Markdown file the heading too, by the anchor that GitHub
//! gives it. Links with a scheme are not followed, so the check needs no network.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::tree::Tree;

const RULE: &str = "link";

/// Links to files or headings that do not exist.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (page, text) in tree.texts().filter(|(path, _)| is_page(path)) {
        for (number, line) in lines_outside_code(text) {
            for link in links(line) {
                let Some(message) = link_problem(tree, page, link) else { continue };
                let remedy = "name what is there, by its path from this page";
                findings.push(Finding::error(RULE, (page, number), message, remedy));
            }
        }
    }
    findings
}

/// Whether it is a page for readers; Markdown in test data and assets is input.
fn is_page(path: &str) -> bool {
    path.ends_with(".md")
        && !["/tests/data/", "/assets/", "/data/"].iter().any(|part| path.contains(part))
}

/// The lines outside of fenced code, counted from 1.
fn lines_outside_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        (!fenced).then_some((number, line))
    })
}

/// The targets of the links in one line, outside of code spans.
fn links(line: &str) -> impl Iterator<Item = &str> {
    // For `[a link's `code`](target)`, the target is in the piece after the code.
    line.split('`').step_by(2).flat_map(|piece| {
        piece.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0))
    })
}

/// What is wrong with the link, if anything.
fn link_problem(tree: &Tree, page: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, heading) = match link.split_once('#') {
        Some((path, heading)) => (path, Some(heading)),
        None => (link, None),
    };
    let target = if path.is_empty() { Some(page.to_owned()) } else { resolve(page, path) };
    let Some(target) = target else { return Some(format!("`{link}` leaves the repository")) };
    if !tree.has(&target) && !is_folder(tree, &target) {
        return Some(format!("`{link}` does not exist"));
    }
    let heading = heading?;
    let found = tree.text(&target).is_some_and(|text| anchors(text).contains(heading));
    (!found).then(|| format!("`{target}` has no heading `{heading}`"))
}

fn is_folder(tree: &Tree, path: &str) -> bool {
    tree.files.iter().any(|file| {
        file.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/') || path.is_empty())
    })
}

/// The path from the root for a `path` on `page`.
fn resolve(page: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The anchors of a page's headings, as GitHub makes them: lower case, spaces as hyphens,
/// punctuation left out, and a number after a repeated one.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in lines_outside_code(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let anchor: String = title
            .trim()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .flat_map(char::to_lowercase)
            .collect();
        let numbered = (1..).map(|n| format!("{anchor}-{n}"));
        let free = std::iter::once(anchor.clone()).chain(numbered).find(|a| !anchors.contains(a));
        anchors.extend(free);
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    fn faults(text: &str) -> Vec<String> {
        let tree = Tree::planted(&[
            ("docs/shelf/page.md", text),
            ("docs/other.md", "# Other\n\n## A `b`, and c\n\n## Twice\n\n## Twice\n"),
            ("docs/shelf/data.toml", ""),
        ]);
        check(&tree).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn links_to_what_is_there_pass() {
        let text = "# Page\n[a](../other.md), [b](data.toml), [c](../../docs/), [d](#page)\n\
                    [e](../other.md#a-b-and-c) [`f`](../other.md#twice-1) [g](https://a.example/x)\n";
        assert_eq!(faults(text), Vec::<String>::new());
    }

    #[test]
    fn files_headings_and_folders_that_are_not_there_are_found() {
        let text =
            "[a](other.md) [b](../gone/) [c](#page) [`d`](../other.md#d) [e](../../../x.md)\n";
        let found = faults(text);
        let expected = [
            "`other.md` does not exist",
            "`../gone/` does not exist",
            "`docs/shelf/page.md` has no heading `page`",
            "`docs/other.md` has no heading `d`",
            "`../../../x.md` leaves the repository",
        ];
        let mut expected = expected.map(str::to_owned).to_vec();
        expected.sort();
        let mut found = found;
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn code_holds_no_links() {
        assert!(faults("`[a](gone.md)`\n```md\n[a](gone.md)\n```\n").is_empty());
    }
}
