//! Labels: short, visible, and each its own on its page.

use std::collections::{BTreeSet, HashMap};

use weaver_text::escape;

use super::seed::Seeds;

const MAX_LABEL: usize = 48;
/// The longest end of a range, in characters.
const MAX_END: usize = 20;
/// How many words name a cluster.
const WORDS: usize = 3;

/// A text as a part of a path: nothing in it is a separator, a blank, a wildcard or unseen.
pub(super) fn part(text: &str, max: usize) -> String {
    let plain = |c: char| if c.is_whitespace() || matches!(c, '/' | '*' | '\\') { '-' } else { c };
    let text: String = text.trim().chars().take(max * 2).map(plain).collect();
    let label: String = escape::line(&text).chars().take(max).collect();
    let label = label.trim_matches('-').to_owned();
    if label.is_empty() { "other".to_owned() } else { label }
}

pub(super) fn segment(text: &str) -> String {
    part(text, MAX_LABEL)
}

/// From one text to another.
pub(super) fn range(first: &str, last: &str) -> String {
    let (first, last) = (part(first, MAX_END), part(last, MAX_END));
    if first == last { first } else { format!("{first}..{last}") }
}

/// The words that most of a group have, the rarer ones elsewhere first among equals.
pub(super) fn words(seeds: &Seeds<'_>, group: &[usize], everywhere: &[u32]) -> String {
    let mut counts: HashMap<u32, usize> = HashMap::new();
    for word in group.iter().filter_map(|at| seeds.get(*at)).flat_map(|seed| &seed.words) {
        *counts.entry(*word).or_default() += 1;
    }
    let mut counts: Vec<(u32, usize)> = counts.into_iter().collect();
    let text = |word: u32| seeds.words.get(word as usize).map_or("", String::as_str);
    counts.sort_by_key(|(word, count)| {
        let elsewhere = everywhere.get(*word as usize).copied().unwrap_or(0);
        (std::cmp::Reverse(*count), elsewhere, text(*word))
    });
    let named: Vec<&str> = counts.iter().take(WORDS).map(|(word, _)| text(*word)).collect();
    part(&named.join("-"), MAX_LABEL)
}

/// The labels of one page, each its own: a second of the same has a number behind it.
pub(super) fn distinct(labels: Vec<String>) -> Vec<String> {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut out = Vec::with_capacity(labels.len());
    // What is there once keeps its name, whatever another would be renamed to.
    let mut counts: HashMap<String, usize> = HashMap::new();
    for label in &labels {
        *counts.entry(label.clone()).or_default() += 1;
    }
    taken.extend(counts.iter().filter(|(_, n)| **n == 1).map(|(label, _)| label.clone()));
    for label in labels {
        if counts.get(&label) == Some(&1) {
            out.push(label);
            continue;
        }
        let mut number = 1;
        let mut named = label.clone();
        while !taken.insert(named.clone()) {
            number += 1;
            named = format!("{label}~{number}");
        }
        out.push(named);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_parts_of_paths() {
        assert_eq!(part(" a/b c* ", 48), "a-b-c");
        assert_eq!(part("", 48), "other");
        assert_eq!(part("///", 48), "other");
        assert_eq!(part("a\u{202e}b", 48), "a\\u{202e}b");
        assert_eq!(range("x", "x"), "x");
    }

    #[test]
    fn equal_labels_are_told_apart() {
        let labels = ["a", "b", "a", "a~2", "a"].map(str::to_owned).to_vec();
        assert_eq!(distinct(labels), ["a", "b", "a~3", "a~2", "a~4"]);
    }
}
