//! Requires a reason wherever a lint is switched off.

use super::finding::Finding;
use super::rust_text::{code, is_ident, line_of};
use super::tree::Tree;

/// Attributes `allow` and `expect`, also inside `cfg_attr`, without a `reason`.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust() {
        let text = code(text);
        for (offset, attribute) in attributes(&text) {
            let switches_off = has_call(attribute, "allow") || has_call(attribute, "expect");
            if switches_off && !has_assignment(attribute, "reason") {
                let place = (path, line_of(&text, offset));
                let message = "a lint is switched off without saying why";
                let remedy = "write `#[expect(lint, reason = \"…\")]`";
                findings.push(Finding::error("suppression", place, message, remedy));
            }
        }
    }
    findings
}

/// Each `#[…]` and `#![…]`: its offset, and the text between the brackets.
fn attributes(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (offset, _) in code.match_indices('#') {
        let Some(rest) = code.get(offset + 1..) else { continue };
        let inner = rest.strip_prefix('!').unwrap_or(rest);
        let Some(inner) = inner.strip_prefix('[') else { continue };
        let mut depth = 1_usize;
        let end = inner.char_indices().find(|(_, c)| {
            match c {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        if let Some(body) = end.and_then(|(end, _)| inner.get(..end)) {
            found.push((offset, body));
        }
    }
    found
}

/// Whether `name(` is at the start of the attribute or inside its `cfg_attr`.
fn has_call(attribute: &str, name: &str) -> bool {
    let attribute = attribute.trim_start();
    if !attribute.starts_with("cfg_attr") {
        return attribute.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('('));
    }
    followed_by(attribute, name, '(')
}

fn has_assignment(attribute: &str, name: &str) -> bool {
    followed_by(attribute, name, '=')
}

/// Whether the word is in the text, followed by this character.
fn followed_by(text: &str, word: &str, next: char) -> bool {
    text.match_indices(word).any(|(offset, _)| {
        let before = text.get(..offset).and_then(|head| head.chars().next_back());
        let after = text.get(offset + word.len()..).unwrap_or_default();
        !before.is_some_and(is_ident) && after.trim_start().starts_with(next)
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    fn lines(text: &str) -> Vec<usize> {
        check(&Tree::planted(&[("a.rs", text)])).into_iter().map(|f| f.line).collect()
    }

    #[test]
    fn suppressions_without_reason_are_found() {
        let text = "#[allow(dead_code)]\nfn a() {}\n#![expect(x)]\n#[cfg_attr(test, allow(y))]\n";
        assert_eq!(lines(text), [1, 3, 4]);
    }

    #[test]
    fn suppressions_with_reason_pass_on_several_lines_too() {
        assert!(
            lines("#[expect(x, reason = \"[it] is\")]\n#[allow(\n  x,\n  reason = \"y\",\n)]\n")
                .is_empty()
        );
    }

    #[test]
    fn comments_strings_and_other_attributes_pass() {
        let text = "// #[allow(x)]\nlet a = \"#[allow(x)]\";\n#[derive(Debug)]\n#[disallow(x)]\n";
        assert!(lines(text).is_empty());
    }
}
