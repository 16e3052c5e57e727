//! Turns texts into term keys, with a cache of analysed words.

use std::collections::HashMap;

use weaver_text::{split, stem, stop};

use super::argument_type::ArgumentTypes;
use super::hashing::{KeyMap, KeySet};
use super::intent::Token;
use super::query::literal_term;
use super::term_key::{self, TermKey};
use super::translation::{MIN_WORDS, TranslationTable};

/// The most words, and the most bigrams, that are cached while a catalog is indexed.
const MAX_WORDS_WHILE_INDEXING: usize = 1 << 20;
/// The most words, and the most bigrams, that are cached between two queries.
const MAX_WORDS_BETWEEN_QUERIES: usize = 1 << 13;
/// The average number of bytes per cached word that is allowed.
const BYTES_PER_WORD: usize = 32;

/// The keys of the terms of one text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TermKeys {
    pub(super) unigrams: Vec<TermKey>,
    pub(super) bigrams: Vec<TermKey>,
}

/// The index of a word in the cache of one analyser.
pub(super) type WordId = u32;

/// An analysed word.
#[derive(Debug)]
pub(super) struct Word {
    /// The word in lower case.
    pub(super) raw: Box<str>,
    pub(super) stem: Box<str>,
    /// The key of its stem.
    pub(super) key: TermKey,
    pub(super) is_stop_word: bool,
    /// How strongly the word suggests that a text is in a language other than English.
    foreign_weight: usize,
}

/// An analysed text.
#[derive(Debug, Default)]
pub(super) struct AnalysedText {
    /// Words, and values that are recognised by their form.
    pub(super) tokens: Vec<Token>,
    /// The words, without those of opaque names such as paths and addresses. All words if the others
    /// are only stop words.
    pub(super) words: Vec<WordId>,
    /// All words.
    pub(super) all_words: Vec<WordId>,
    /// Whether the text may be in a language other than English.
    pub(super) is_foreign: bool,
}

/// Computes the keys of texts; they are the same as those of [`Terms`](super::query::Terms).
#[derive(Debug, Default)]
pub(super) struct Analyser {
    words: Vec<Word>,
    ids: HashMap<Box<str>, WordId>,
    /// The keys of numbers and of words such as `version`.
    version_marks: KeySet,
    /// The keys of bigrams, by the ids of both words.
    bigrams: KeyMap<TermKey>,
    /// The bytes of all cached words.
    bytes: usize,
    /// How many of the words [`Analyser::new_stems`] has returned.
    reported_words: usize,
}

impl Analyser {
    /// The keys of a text, without stop words.
    pub(super) fn keys(&mut self, text: &str) -> TermKeys {
        let words = self.words(text);
        self.content_keys(&words)
    }

    /// The keys of a name; never empty unless the name is blank.
    pub(super) fn keys_of_name(&mut self, text: &str) -> TermKeys {
        let words = self.words(text);
        self.keys_or_literal(text, &words)
    }

    /// As [`Analyser::keys_of_name`], for a text whose words are known.
    pub(super) fn keys_or_literal(&mut self, text: &str, words: &[WordId]) -> TermKeys {
        let found = self.content_keys(words);
        if !found.unigrams.is_empty() {
            return found;
        }
        if words.is_empty() {
            let unigrams = literal_term(text).iter().map(|term| term_key::of_term(term)).collect();
            return TermKeys { unigrams, bigrams: Vec::new() };
        }
        self.term_keys(words)
    }

    /// The keys of the words that are not stop words.
    pub(super) fn content_keys(&mut self, words: &[WordId]) -> TermKeys {
        let says = |at: &WordId| self.word(*at).is_some_and(|word| !word.is_stop_word);
        let words: Vec<WordId> = words.iter().copied().filter(says).collect();
        self.term_keys(&words)
    }

    /// The digest of the sequence of words, stop words included.
    pub(super) fn word_sequence(&self, words: &[WordId]) -> TermKey {
        term_key::sequence(self.word_keys(words))
    }

    /// As [`Analyser::word_sequence`], without numbers and version words.
    pub(super) fn word_sequence_without_versions(&self, words: &[WordId]) -> TermKey {
        term_key::sequence(self.word_keys(words).filter(|key| !self.version_marks.contains(key)))
    }

    fn word_keys(&self, words: &[WordId]) -> impl Iterator<Item = TermKey> {
        words.iter().filter_map(|at| self.word(*at)).map(|word| word.key)
    }

    /// The stems first seen since the last call.
    pub(super) fn new_stems(&mut self) -> impl Iterator<Item = &str> {
        let from = std::mem::replace(&mut self.reported_words, self.words.len());
        self.words.iter().skip(from).filter(|word| !word.is_stop_word).map(|word| &*word.stem)
    }

    /// Clears caches that have grown too large. To be called only between two items.
    pub(super) fn trim(&mut self) {
        self.trim_to(MAX_WORDS_WHILE_INDEXING);
    }

    /// Clears caches that have grown too large between two queries.
    pub(super) fn trim_for_queries(&mut self) {
        self.trim_to(MAX_WORDS_BETWEEN_QUERIES);
    }

    fn trim_to(&mut self, most: usize) {
        if self.words.len() > most || self.bytes > most * BYTES_PER_WORD {
            *self = Self::default();
        }
        if self.bigrams.len() > most {
            self.bigrams.clear();
        }
    }

    /// The words of a text, stop words included. The ids are valid until the next trim.
    pub(super) fn words(&mut self, text: &str) -> Vec<WordId> {
        let mut ids = Vec::new();
        split::each_word(text, |raw| ids.push(self.word_id(raw)));
        ids
    }

    /// Splits a text into words and typed values.
    pub(super) fn analyse(&mut self, text: &str) -> AnalysedText {
        let (mut tokens, mut words, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for part in text.split_whitespace() {
            let types = ArgumentTypes::classify(part);
            if !types.is_empty() {
                tokens.push(Token::Typed(types));
            }
            let from = all.len();
            split::each_word(part, |raw| all.push(self.word_id(raw)));
            let new = all.get(from..).unwrap_or_default();
            if types.is_empty() {
                tokens.extend(new.iter().filter_map(|at| Some(Token::Word(self.word(*at)?.key))));
            }
            if !types.is_opaque_name() {
                words.extend_from_slice(new);
            }
        }
        // Items are not indexed by stop words: a request with nothing else beside its values is read whole.
        let is_stop_word = |at: &WordId| self.word(*at).is_none_or(|word| word.is_stop_word);
        if words.iter().all(is_stop_word) {
            words.clone_from(&all);
        }
        // Many English requests contain one word that looks foreign. Detecting the language of all of
        // these took a seventh of the time of a request, so several such words are required.
        let weights = all.iter().filter_map(|at| self.word(*at)).map(|word| word.foreign_weight);
        let foreign = weights.sum::<usize>() >= MIN_WORDS;
        AnalysedText { tokens, words, all_words: all, is_foreign: foreign }
    }

    pub(super) fn word(&self, at: WordId) -> Option<&Word> {
        self.words.get(at as usize)
    }

    fn word_id(&mut self, raw: &str) -> WordId {
        if let Some(place) = self.ids.get(raw) {
            return *place;
        }
        let stem: Box<str> = stem::stem(raw).into();
        let (key, is_stop_word) = (term_key::of_term(&stem), stop::is_stop_word(raw));
        if is_version_mark(&stem) {
            self.version_marks.insert(key);
        }
        let place = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
        self.bytes += raw.len() + stem.len();
        self.ids.insert(raw.into(), place);
        let foreign_weight = TranslationTable::built_in().foreign_weight(raw);
        self.words.push(Word { raw: raw.into(), stem, key, is_stop_word, foreign_weight });
        place
    }

    fn term_keys(&mut self, words: &[WordId]) -> TermKeys {
        let (known, cached) = (&self.words, &mut self.bigrams);
        let word = |place: &WordId| known.get(*place as usize);
        let unigrams = words.iter().filter_map(word).map(|word| word.key).collect();
        let neighbours = words.iter().zip(words.iter().skip(1));
        let bigrams = neighbours.filter_map(|(a, b)| {
            let (first, second) = (word(a)?, word(b)?);
            let pair = cached.entry(u64::from(*a) << 32 | u64::from(*b));
            Some(*pair.or_insert_with(|| term_key::of_bigram(&first.stem, &second.raw)))
        });
        TermKeys { bigrams: bigrams.collect(), unigrams }
    }
}

fn is_version_mark(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    matches!(word, "variant" | "version") || digits.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::query::Terms;
    use super::*;

    fn expected(terms: &Terms) -> TermKeys {
        let keys = |terms: &[String]| terms.iter().map(|term| term_key::of_term(term)).collect();
        TermKeys { unigrams: keys(&terms.unigrams), bigrams: keys(&terms.bigrams) }
    }

    #[test]
    fn keys_are_those_of_the_terms() {
        let mut analyser = Analyser::default();
        for _ in 0..2 {
            for text in
                ["Reading data bases", "listIssues, please help", "", "🚀", "please", "日本"]
            {
                assert_eq!(analyser.keys(text), expected(&Terms::of(text)), "{text}");
                assert_eq!(analyser.keys_of_name(text), expected(&Terms::of_name(text)), "{text}");
            }
        }
    }

    #[test]
    fn what_is_kept_between_queries_is_bounded() {
        let mut analyser = Analyser::default();
        for query in 0..2_000 {
            let text: String = (0..20).map(|n| format!("w{} ", query * 20 + n)).collect();
            assert_eq!(analyser.keys(&text), expected(&Terms::of(&text)));
            analyser.trim_for_queries();
            assert!(analyser.words.len() <= MAX_WORDS_BETWEEN_QUERIES, "{}", analyser.words.len());
            assert!(
                analyser.bigrams.len() <= MAX_WORDS_BETWEEN_QUERIES,
                "{}",
                analyser.bigrams.len()
            );
        }
        assert!(!analyser.words.is_empty());
        for query in 0..MAX_WORDS_BETWEEN_QUERIES {
            analyser.keys(&format!("v{} w{} v{0}", query / 100, query % 100));
            analyser.trim_for_queries();
            assert!(
                analyser.bigrams.len() <= MAX_WORDS_BETWEEN_QUERIES,
                "{}",
                analyser.bigrams.len()
            );
        }
        analyser.keys(&"x".repeat(MAX_WORDS_BETWEEN_QUERIES * BYTES_PER_WORD));
        analyser.trim_for_queries();
        assert!(analyser.words.is_empty());
    }
}
