//! Term keys: terms as 64-bit hashes.

use std::hash::{DefaultHasher, Hasher as _};

/// A term as a 64-bit hash. Equal terms have equal keys. A chance collision is practically impossible,
/// and whoever constructs one only makes two words synonymous.
pub(super) type TermKey = u64;

/// The key of a term.
pub(super) fn of_term(term: &str) -> TermKey {
    let mut hasher = DefaultHasher::new();
    hasher.write(term.as_bytes());
    hasher.finish()
}

/// The digest of a sequence of words.
pub(super) fn sequence(words: impl Iterator<Item = TermKey>) -> TermKey {
    let mut hasher = DefaultHasher::new();
    words.for_each(|word| hasher.write_u64(word));
    hasher.finish()
}

/// The key of two neighbouring words written as one, so that `data base` matches `database`.
pub(super) fn of_bigram(stem: &str, next: &str) -> TermKey {
    of_term(&weaver_text::stem::stem(&format!("{stem}{next}")))
}
