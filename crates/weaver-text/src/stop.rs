//! English stop words for tool search: function words, and words of polite phrases around a request
//! ("could you please help me …").

use std::sync::LazyLock;

/// The stop words, sorted, each of at most twelve letters `a`–`z`.
const WORDS: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "ask", "asking", "at",
    "be", "been", "being", "but", "by", "can", "cannot", "could", "d", "did", "do", "does",
    "doing", "don", "for", "from", "get", "getting", "give", "given", "go", "going", "gonna",
    "got", "had", "has", "have", "having", "he", "hello", "help", "her", "here", "hers", "hey",
    "hi", "him", "his", "how", "i", "if", "im", "in", "into", "is", "it", "its", "just", "know",
    "let", "like", "ll", "looking", "m", "make", "may", "maybe", "me", "might", "must", "my",
    "myself", "need", "needed", "needs", "of", "on", "or", "our", "out", "please", "provide", "re",
    "s", "see", "shall", "she", "should", "show", "so", "some", "someone", "something", "t",
    "tell", "than", "thank", "thanks", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "too", "trying", "us", "use", "used", "using", "ve", "very",
    "want", "wanted", "wants", "was", "we", "were", "what", "when", "where", "which", "while",
    "who", "whose", "why", "will", "wish", "with", "wondering", "would", "you", "your",
];

/// The encoded words, sorted.
static ENCODED_WORDS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut numbers: Vec<u64> = WORDS.iter().filter_map(|word| encode(word)).collect();
    numbers.sort_unstable();
    numbers
});

/// Encodes a word of at most twelve letters `a`–`z` with five bits for each. `None` for other words.
fn encode(word: &str) -> Option<u64> {
    if word.len() > 12 {
        return None;
    }
    word.bytes().try_fold(0, |number, letter| {
        letter.is_ascii_lowercase().then(|| number << 5 | u64::from(letter & 31))
    })
}

/// Whether `word`, given in lower case, is a stop word.
pub fn is_stop_word(word: &str) -> bool {
    encode(word).is_some_and(|number| ENCODED_WORDS.binary_search(&number).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_found() {
        assert!(WORDS.is_sorted() && ENCODED_WORDS.len() == WORDS.len());
        assert!(WORDS.iter().all(|word| is_stop_word(word)));
        for word in ["delete", "", "Zulu", "{", "th", "thee", "aaa", "a ", "WITH", "themselveswho"]
        {
            assert!(!is_stop_word(word), "{word}");
        }
    }
}
