//! Stems of texts, by which routing, compiling and memory compare texts.

use weaver_text::{split, stem, stop};

/// The stems of a text, without stop words.
pub(crate) fn stems(text: &str) -> Vec<String> {
    let words = split::words(text).into_iter().filter(|word| !stop::is_stop_word(word));
    words.map(|word| stem::stem(&word).into_owned()).collect()
}
