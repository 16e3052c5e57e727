//! Words that everyday requests are full of and that say little of what is wanted.
//!
//! How rare a word is among a few hundred tools says little of how rare it is in speech: where one
//! tool converts "from one timezone to another", `another` looks like the most telling word of a
//! request. Weighting by a background collection is the usual remedy in information retrieval
//! (Kwok 1995, "A network approach to probabilistic information retrieval"); a list of the words
//! that matter most stands for that collection here.

use std::sync::LazyLock;

use weaver_text::stem;

use super::hashing::KeySet;
use super::key::{self, Key};

const BUILT_IN: &str = include_str!("../../assets/common.txt");

/// Whether a stem is that of a common word.
pub(super) fn contains(key: Key) -> bool {
    static READ: LazyLock<KeySet> = LazyLock::new(|| {
        let lines = BUILT_IN.lines().filter(|line| !line.starts_with('#'));
        lines.flat_map(str::split_whitespace).map(|word| key::of(&stem::stem(word))).collect()
    });
    READ.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_count_in_all_their_forms() {
        let is_common = |word: &str| contains(key::of(&stem::stem(word)));
        assert!(["thing", "things", "another", "takes"].into_iter().all(is_common));
        assert!(!["timezone", "convert", "file"].into_iter().any(is_common));
    }
}
