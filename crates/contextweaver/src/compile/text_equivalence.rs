//! When two texts say the same.
//!
//! What may differ is listed, and nothing else: blanks and line breaks, a full stop or an
//! exclamation mark at the very end, and a few words of courtesy. Everything else tells two
//! statements apart: a negation, a digit, a name, a date, a unit, a sign, the case of a letter,
//! the order of words. So texts that say the same have the same words that count, and one hash of
//! these finds them; the words themselves are compared before two texts are taken for one.

use std::hash::{DefaultHasher, Hasher as _};

/// Words that may be there or not. "Again" is none of them: it asks for a thing a second time.
const COURTESY: [&str; 2] = ["kindly", "please"];

/// The words that count.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let whole = text.trim().trim_end_matches(['.', '!']);
    whole.split_whitespace().filter(|word| !COURTESY.contains(word))
}

/// What the words that count come to; `None` where there are none.
pub(super) fn fingerprint(text: &str) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let mut any = false;
    for word in words(text) {
        any = true;
        hasher.write(word.as_bytes());
        hasher.write_u8(0xff);
    }
    any.then(|| hasher.finish())
}

/// Whether both say the same.
pub(super) fn is_same(a: &str, b: &str) -> bool {
    words(a).eq(words(b))
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
            assert!(is_same(a, b), "{a} | {b}");
            assert_eq!(fingerprint(a), fingerprint(b));
        }
    }

    #[test]
    fn again_is_a_word_like_any_other() {
        assert!(!is_same("retry the upload again", "retry the upload"));
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
