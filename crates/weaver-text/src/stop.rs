//! English words without meaning for a search over tools: function words and the phrases people
//! wrap a request in ("could you please help me …").

use std::array;
use std::sync::LazyLock;

/// Sorted, lower case, each beginning with one of the letters from `a` to `z`.
const WORDS: &[&str] = &[
    "a",
    "about",
    "all",
    "also",
    "am",
    "an",
    "and",
    "any",
    "are",
    "as",
    "ask",
    "asking",
    "at",
    "be",
    "been",
    "being",
    "but",
    "by",
    "can",
    "cannot",
    "could",
    "d",
    "did",
    "do",
    "does",
    "doing",
    "don",
    "for",
    "from",
    "get",
    "getting",
    "give",
    "given",
    "go",
    "going",
    "gonna",
    "got",
    "had",
    "has",
    "have",
    "having",
    "he",
    "hello",
    "help",
    "her",
    "here",
    "hers",
    "hey",
    "hi",
    "him",
    "his",
    "how",
    "i",
    "if",
    "im",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "know",
    "let",
    "like",
    "ll",
    "looking",
    "m",
    "make",
    "may",
    "maybe",
    "me",
    "might",
    "must",
    "my",
    "myself",
    "need",
    "needed",
    "needs",
    "of",
    "on",
    "or",
    "our",
    "out",
    "please",
    "provide",
    "re",
    "s",
    "see",
    "shall",
    "she",
    "should",
    "show",
    "so",
    "some",
    "someone",
    "something",
    "t",
    "tell",
    "than",
    "thank",
    "thanks",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "to",
    "too",
    "trying",
    "us",
    "use",
    "used",
    "using",
    "ve",
    "very",
    "want",
    "wanted",
    "wants",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "whose",
    "why",
    "will",
    "wish",
    "with",
    "wondering",
    "would",
    "you",
    "your",
];

/// Where the words of each letter begin; those of the last one go on to the end.
static STARTS: LazyLock<[usize; 26]> = LazyLock::new(|| {
    array::from_fn(|letter| WORDS.partition_point(|word| letter_of(word) < Some(letter)))
});

/// The place of a word's first letter in the alphabet.
fn letter_of(word: &str) -> Option<usize> {
    let letter = word.bytes().next()?.checked_sub(b'a')?.into();
    (letter < 26).then_some(letter)
}

/// True if `word`, given in lower case, carries no meaning for a search.
pub fn is_stop_word(word: &str) -> bool {
    let Some(letter) = letter_of(word) else { return false };
    let start = STARTS.get(letter).copied().unwrap_or(0);
    let end = STARTS.get(letter + 1).copied().unwrap_or(WORDS.len());
    WORDS.get(start..end).is_some_and(|words| words.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_found() {
        assert!(WORDS.is_sorted() && WORDS.iter().all(|word| letter_of(word).is_some()));
        assert!(WORDS.iter().all(|word| is_stop_word(word)));
        assert!(!is_stop_word("delete"));
        assert!(!is_stop_word("") && !is_stop_word("Zulu") && !is_stop_word("{"));
    }
}
