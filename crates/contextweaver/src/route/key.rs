//! Terms as numbers.

use std::hash::{DefaultHasher, Hasher as _};

/// A term as 64 bits. Equal terms have equal keys; that two others share one is as good as
/// impossible by chance, and whoever makes it happen has only named the one word by the other.
pub(super) type Key = u64;

/// The key of a term.
pub(super) fn of(term: &str) -> Key {
    let mut hasher = DefaultHasher::new();
    hasher.write(term.as_bytes());
    hasher.finish()
}

/// The key of words in their order.
pub(super) fn sequence(words: impl Iterator<Item = Key>) -> Key {
    let mut hasher = DefaultHasher::new();
    words.for_each(|word| hasher.write_u64(word));
    hasher.finish()
}

/// The key of two neighbours written as one word.
pub(super) fn joined(stem: &str, next: &str) -> Key {
    of(&weaver_text::stem::stem(&format!("{stem}{next}")))
}
