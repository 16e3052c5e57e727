//! Stems English words.
//!
//! The English stemmer of Snowball, also called Porter2 (Porter, *An algorithm for suffix stripping*,
//! 1980; Porter, *Snowball*, 2001). Rules without a dictionary give the same stem in every build and
//! for words that no dictionary has, as names of tools are.

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};

/// Maximum length of a word that is stemmed, in bytes.
const MAX_LEN: usize = 64;

/// The stem of one lower-case word.
///
/// Only words of at most 64 letters `a`–`z` are stemmed, as the rules are for English. Any other
/// text (numbers, other scripts, upper case) is returned unchanged.
///
/// ```
/// assert_eq!(weaver_text::stem::stem("connections"), "connect");
/// assert_eq!(weaver_text::stem::stem("größe"), "größe");
/// ```
pub fn stem(word: &str) -> Cow<'_, str> {
    if word.len() > MAX_LEN || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    Stemmer::new(Algorithm::English).stem(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_meet() {
        for (a, b) in [("deleting", "deletes"), ("issue", "issues"), ("queries", "query")] {
            assert_eq!(stem(a), stem(b), "{a} and {b}");
        }
    }

    #[test]
    fn other_text_is_left_alone() {
        for word in ["", "s3", "Running", "日本", "naïve"] {
            assert_eq!(stem(word), word);
        }
        let long = "s".repeat(65);
        assert_eq!(stem(&long), long);
    }
}
