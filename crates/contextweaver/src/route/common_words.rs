//! Words that are frequent in everyday requests and say little about the task.
//!
//! The frequency of a word among a few hundred tools says little about its frequency in speech. If one
//! tool converts "from one timezone to another", `another` looks like the most telling word of a
//! request. The usual remedy in information retrieval is to weight by a background collection (Kwok
//! 1995, "A network approach to probabilistic information retrieval"); here a list of the most
//! important such words takes its place.

use std::sync::LazyLock;

use weaver_text::stem;

use super::hashing::KeySet;
use super::term_key::{self, TermKey};

const BUILT_IN: &str = include_str!("../../assets/common.txt");

/// Whether this is the key of a common word's stem.
pub(super) fn contains(key: TermKey) -> bool {
    static READ: LazyLock<KeySet> = LazyLock::new(|| {
        let lines = BUILT_IN.lines().filter(|line| !line.starts_with('#'));
        lines
            .flat_map(str::split_whitespace)
            .map(|word| term_key::of_term(&stem::stem(word)))
            .collect()
    });
    READ.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_count_in_all_their_forms() {
        let is_common = |word: &str| contains(term_key::of_term(&stem::stem(word)));
        assert!(["thing", "things", "another", "takes"].into_iter().all(is_common));
        assert!(!["timezone", "convert", "file"].into_iter().any(is_common));
    }
}
