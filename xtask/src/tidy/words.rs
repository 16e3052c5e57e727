//! Finds words that are forbidden in the repository.
//!
//! Test data (`tests/data/`) and assets come from elsewhere and are not checked. The list of words
//! is exempt, because it contains them.

use super::finding::Finding;
use super::lists::{self, ForbiddenWord, Lists};
use super::rust_text::{is_ident, line_of};
use super::tree::Tree;

/// Every occurrence of a forbidden word.
pub fn check(tree: &Tree, lists: &Lists) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        if path == lists::PATH || path.contains("/tests/data/") || path.contains("/assets/") {
            continue;
        }
        let folded = text.to_ascii_lowercase();
        for word in &lists.words {
            let excepted =
                lists.word_exceptions.iter().any(|(file, w)| file == path && *w == word.text);
            if excepted {
                continue;
            }
            let hay = if word.any_case { folded.as_str() } else { text };
            for offset in occurrences(hay, word) {
                let message = format!("`{}` is forbidden: {}", word.text, word.reason);
                let place = (path, line_of(text, offset));
                let remedy = format!("reword it, or add an exception to {}", lists::PATH);
                findings.push(Finding::error("word", place, message, remedy));
            }
        }
    }
    findings
}

/// The byte offsets at which the word occurs as a whole.
fn occurrences(text: &str, word: &ForbiddenWord) -> Vec<usize> {
    let word_text = if word.any_case { word.text.to_ascii_lowercase() } else { word.text.clone() };
    let letter_first = word_text.starts_with(is_ident);
    let letter_last = word_text.ends_with(is_ident);
    let is_whole_word = |offset: &usize| {
        let before = text.get(..*offset).and_then(|head| head.chars().next_back());
        let after = text.get(offset + word_text.len()..).and_then(|tail| tail.chars().next());
        let free_before = match before {
            // A path counts only where it begins.
            Some(c) if !letter_first => !is_ident(c) && !matches!(c, '.' | '-' | '/' | '~' | '}'),
            Some(c) => !is_ident(c),
            None => true,
        };
        free_before && (word.open_end || !letter_last || !after.is_some_and(is_ident))
    };
    text.match_indices(&word_text).map(|(offset, _)| offset).filter(is_whole_word).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::lists::{Lists, PATH};
    use crate::tidy::tree::Tree;

    const LISTS: &str = r#"
        [[word]]
        text = "BAD"
        reason = "r"
        [[word]]
        text = "two words"
        any_case = true
        reason = "r"
        [[word]]
        text = "/place/"
        reason = "r"
        [[word]]
        text = "part 0"
        open_end = true
        reason = "r"
        [[word_exception]]
        path = "ok.md"
        text = "BAD"
        reason = "r"
    "#;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let lists = Lists::parse(LISTS).unwrap();
        check(&Tree::planted(&[(path, text)]), &lists).into_iter().map(|f| f.line).collect()
    }

    #[test]
    fn whole_words_are_found_with_their_line() {
        assert_eq!(lines("a.md", "fine\n// BAD: x\nBADGE aBAD BAD_1 bad\n"), [2]);
        assert_eq!(lines("a.md", "Two Words, two wordsmiths"), [1]);
        assert_eq!(lines("a.md", "part 04 part x"), [1]);
    }

    #[test]
    fn paths_are_found_where_they_begin() {
        assert_eq!(lines("a.md", "x\n`/place/a`\nsome/place/b /other/place/c"), [2]);
    }

    #[test]
    fn lists_data_and_exceptions_are_exempt() {
        assert!(lines(PATH, "BAD").is_empty());
        assert!(lines("crates/a/tests/data/x.json", "BAD").is_empty());
        assert!(lines("ok.md", "BAD").is_empty());
        assert_eq!(lines("ok.md", "two words"), [1]);
    }
}
