//! Labels of groups: short, escaped, and unique on their page.

use std::collections::{BTreeSet, HashMap};

use weaver_text::escape;

use super::seed::FeatureTable;

const MAX_NAME: usize = 48;
/// The longest text at either end of a range, in characters.
const MAX_RANGE_END: usize = 20;
/// How many words make up the name of a cluster.
const CLUSTER_WORDS: usize = 3;

/// A text as a segment of a path, without separators, white space, wildcards and hidden characters.
pub(super) fn path_segment(text: &str, max: usize) -> String {
    let plain = |c: char| if c.is_whitespace() || matches!(c, '/' | '*' | '\\') { '-' } else { c };
    let text: String = text.trim().chars().take(max * 2).map(plain).collect();
    let label: String = escape::line(&text).chars().take(max).collect();
    let label = label.trim_matches('-').to_owned();
    if label.is_empty() { "other".to_owned() } else { label }
}

pub(super) fn namespace_name(text: &str) -> String {
    path_segment(text, MAX_NAME)
}

/// A label for the range from one name to another.
pub(super) fn range_name(first: &str, last: &str) -> String {
    let (first, last) = (path_segment(first, MAX_RANGE_END), path_segment(last, MAX_RANGE_END));
    if first == last { first } else { format!("{first}..{last}") }
}

/// The most frequent words of a group; among equally frequent ones, those that are rarer in the whole
/// catalog come first.
pub(super) fn cluster_name(
    seeds: &FeatureTable<'_>,
    group: &[usize],
    document_frequencies: &[u32],
) -> String {
    let mut counts: HashMap<u32, usize> = HashMap::new();
    for word in group.iter().filter_map(|at| seeds.get(*at)).flat_map(|seed| &seed.words) {
        *counts.entry(*word).or_default() += 1;
    }
    let mut counts: Vec<(u32, usize)> = counts.into_iter().collect();
    let text = |word: u32| seeds.words.get(word as usize).map_or("", String::as_str);
    counts.sort_by_key(|(word, count)| {
        let elsewhere = document_frequencies.get(*word as usize).copied().unwrap_or(0);
        (std::cmp::Reverse(*count), elsewhere, text(*word))
    });
    let named: Vec<&str> = counts.iter().take(CLUSTER_WORDS).map(|(word, _)| text(*word)).collect();
    path_segment(&named.join("-"), MAX_NAME)
}

/// Makes the labels of a page unique by appending a number to repeated ones.
pub(super) fn deduplicate(labels: Vec<String>) -> Vec<String> {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut out = Vec::with_capacity(labels.len());
    // Labels that are already unique are reserved first, so that no numbered label takes their name.
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
        assert_eq!(path_segment(" a/b c* ", 48), "a-b-c");
        assert_eq!(path_segment("", 48), "other");
        assert_eq!(path_segment("///", 48), "other");
        assert_eq!(path_segment("a\u{202e}b", 48), "a\\u{202e}b");
        assert_eq!(range_name("x", "x"), "x");
    }

    #[test]
    fn equal_labels_are_told_apart() {
        let labels = ["a", "b", "a", "a~2", "a"].map(str::to_owned).to_vec();
        assert_eq!(deduplicate(labels), ["a", "b", "a~3", "a~2", "a~4"]);
    }
}
