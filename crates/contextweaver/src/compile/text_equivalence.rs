//! Decides when two texts are equivalent.
//!
//! Equivalent texts may differ only in white space, in full stops or exclamation marks at the very
//! end, and in a few words of courtesy. Everything else distinguishes two statements: a negation, a
//! digit, a name, a date, a unit, a sign, the case of a letter, the order of words. So equivalent
//! texts have the same sequence of significant words. A hash of that sequence finds candidates, and
//! the words themselves are compared before two texts count as equivalent.

use std::hash::{DefaultHasher, Hasher as _};

/// Words that are ignored. "Again" is not among them: it asks for something a second time.
const IGNORED_WORDS: [&str; 2] = ["kindly", "please"];

/// The words of a text that distinguish it from others.
fn significant_words(text: &str) -> impl Iterator<Item = &str> {
    let trimmed = text.trim().trim_end_matches(['.', '!']);
    trimmed.split_whitespace().filter(|word| !IGNORED_WORDS.contains(word))
}

/// The hash of the significant words; `None` if there are none.
pub(super) fn fingerprint(text: &str) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let mut has_words = false;
    for word in significant_words(text) {
        has_words = true;
        hasher.write(word.as_bytes());
        hasher.write_u8(0xff);
    }
    has_words.then(|| hasher.finish())
}

/// Whether two texts have the same significant words.
pub(super) fn are_equivalent(a: &str, b: &str) -> bool {
    significant_words(a).eq(significant_words(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_and_courtesy_do_not_count() {
        for (a, b) in [
            ("Restart the  server.", "Restart the server"),
            ("please restart\nthe server!", "restart the server"),
        ] {
            assert!(are_equivalent(a, b), "{a} | {b}");
            assert_eq!(fingerprint(a), fingerprint(b));
        }
    }

    #[test]
    fn again_is_a_word_like_any_other() {
        assert!(!are_equivalent("retry the upload again", "retry the upload"));
        assert!(fingerprint("again").is_some());
        assert_ne!(fingerprint("please again"), fingerprint("please"));
    }

    #[test]
    fn nothing_to_say_is_like_nothing() {
        assert_eq!(fingerprint(" \n"), None);
        assert_eq!(fingerprint("please"), None);
        assert_eq!(fingerprint("..."), None);
    }
}
