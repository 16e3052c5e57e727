//! Texts of a whole catalog into keys: what a word comes to is worked out once.

use std::collections::HashMap;

use weaver_text::{split, stem, stop};

use super::argument_type::ArgumentTypes;
use super::hashing::{KeyMap, KeySet};
use super::intent::Token;
use super::key::{self, Key};
use super::lexicon::{Lexicon, MIN_WORDS};
use super::query::literal;

/// Most words, and most neighbours, that are kept while a catalog is read.
const MOST_OF_ITEMS: usize = 1 << 20;
/// The same from one query to the next.
const MOST_OF_QUERIES: usize = 1 << 13;
/// Bytes of all words that are kept, for each.
const BYTES: usize = 32;

/// The keys of the terms of one text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) single: Vec<Key>,
    pub(super) pairs: Vec<Key>,
}

/// A word as its number with the analyser that met it.
pub(super) type WordAt = u32;

/// One word as far as it is worked out.
#[derive(Debug)]
pub(super) struct Word {
    /// In lower case.
    pub(super) raw: Box<str>,
    pub(super) stem: Box<str>,
    /// The key of its stem.
    pub(super) key: Key,
    pub(super) stop: bool,
    /// How much it counts for a text being in another language than English.
    foreign: usize,
}

/// A text in its parts.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// Words, and what is known by its form.
    pub(super) tokens: Vec<Token>,
    /// Its words without those of names of things that are known by their form: paths, addresses.
    /// Where there are no others, all of them.
    pub(super) words: Vec<WordAt>,
    /// All of its words.
    pub(super) all: Vec<WordAt>,
    /// Whether it may be in another language than English.
    pub(super) foreign: bool,
}

/// Gives the keys of texts, the same as those of [`Terms`](super::query::Terms).
#[derive(Debug, Default)]
pub(super) struct Analyser {
    words: Vec<Word>,
    places: HashMap<Box<str>, WordAt>,
    /// The keys of numbers and of words for a version.
    marks: KeySet,
    /// By the places of both words.
    pairs: KeyMap<Key>,
    /// The bytes of all words.
    bytes: usize,
    /// How many of the words were told of by [`Analyser::new_stems`].
    told: usize,
}

impl Analyser {
    /// The keys of a text, without stop words.
    pub(super) fn keys(&mut self, text: &str) -> Keys {
        let words = self.words(text);
        self.keys_among(&words)
    }

    /// The keys of a name, which must not come to nothing.
    pub(super) fn keys_of_name(&mut self, text: &str) -> Keys {
        let words = self.words(text);
        self.keys_of_whole(text, &words)
    }

    /// The same, of the words of these, which are all words of the text.
    pub(super) fn keys_of_whole(&mut self, text: &str, words: &[WordAt]) -> Keys {
        let found = self.keys_among(words);
        if !found.single.is_empty() {
            return found;
        }
        if words.is_empty() {
            let single = literal(text).iter().map(|term| key::of(term)).collect();
            return Keys { single, pairs: Vec::new() };
        }
        self.keys_of(words)
    }

    /// The keys of words, without those of stop words.
    pub(super) fn keys_among(&mut self, words: &[WordAt]) -> Keys {
        let says = |at: &WordAt| self.word(*at).is_some_and(|word| !word.stop);
        let words: Vec<WordAt> = words.iter().copied().filter(says).collect();
        self.keys_of(&words)
    }

    /// The key of words in their order, those without meaning among them.
    pub(super) fn sequence(&self, words: &[WordAt]) -> Key {
        key::sequence(self.word_keys(words))
    }

    /// The same without numbers and words for a version.
    pub(super) fn sequence_without_marks(&self, words: &[WordAt]) -> Key {
        key::sequence(self.word_keys(words).filter(|key| !self.marks.contains(key)))
    }

    fn word_keys(&self, words: &[WordAt]) -> impl Iterator<Item = Key> {
        words.iter().filter_map(|at| self.word(*at)).map(|word| word.key)
    }

    /// The stems that it has met since this was last asked.
    pub(super) fn new_stems(&mut self) -> impl Iterator<Item = &str> {
        let from = std::mem::replace(&mut self.told, self.words.len());
        self.words.iter().skip(from).filter(|word| !word.stop).map(|word| &*word.stem)
    }

    /// Forgets what it has kept, where that is too much. Only between two items.
    pub(super) fn trim(&mut self) {
        self.keep(MOST_OF_ITEMS);
    }

    /// The same between two queries.
    pub(super) fn trim_for_queries(&mut self) {
        self.keep(MOST_OF_QUERIES);
    }

    fn keep(&mut self, most: usize) {
        if self.words.len() > most || self.bytes > most * BYTES {
            *self = Self::default();
        }
        if self.pairs.len() > most {
            self.pairs.clear();
        }
    }

    /// The words of a text, stop words among them. They hold until the next trim.
    pub(super) fn words(&mut self, text: &str) -> Vec<WordAt> {
        let mut places = Vec::new();
        split::each_word(text, |raw| places.push(self.place(raw)));
        places
    }

    /// A text as what patterns are looked for in, and its words.
    pub(super) fn tokens(&mut self, text: &str) -> Tokens {
        let (mut tokens, mut words, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for part in text.split_whitespace() {
            let types = ArgumentTypes::of_word(part);
            if !types.is_none() {
                tokens.push(Token::Typed(types));
            }
            let from = all.len();
            split::each_word(part, |raw| all.push(self.place(raw)));
            let new = all.get(from..).unwrap_or_default();
            if types.is_none() {
                tokens.extend(new.iter().filter_map(|at| Some(Token::Word(self.word(*at)?.key))));
            }
            if !types.is_name() {
                words.extend_from_slice(new);
            }
        }
        if words.is_empty() {
            words.clone_from(&all);
        }
        // One word that looks foreign is in many English requests: to read each of these for its
        // language took a seventh of the time of a request.
        let weights = all.iter().filter_map(|at| self.word(*at)).map(|word| word.foreign);
        let foreign = weights.sum::<usize>() >= MIN_WORDS;
        Tokens { tokens, words, all, foreign }
    }

    pub(super) fn word(&self, at: WordAt) -> Option<&Word> {
        self.words.get(at as usize)
    }

    fn place(&mut self, raw: &str) -> WordAt {
        if let Some(place) = self.places.get(raw) {
            return *place;
        }
        let stem: Box<str> = stem::stem(raw).into();
        let (key, stop) = (key::of(&stem), stop::is_stop_word(raw));
        if is_version_mark(&stem) {
            self.marks.insert(key);
        }
        let place = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
        self.bytes += raw.len() + stem.len();
        self.places.insert(raw.into(), place);
        let foreign = Lexicon::built_in().weight(raw);
        self.words.push(Word { raw: raw.into(), stem, key, stop, foreign });
        place
    }

    fn keys_of(&mut self, words: &[WordAt]) -> Keys {
        let (known, cached) = (&self.words, &mut self.pairs);
        let word = |place: &WordAt| known.get(*place as usize);
        let single = words.iter().filter_map(word).map(|word| word.key).collect();
        let neighbours = words.iter().zip(words.iter().skip(1));
        let pairs = neighbours.filter_map(|(a, b)| {
            let (first, second) = (word(a)?, word(b)?);
            let pair = cached.entry(u64::from(*a) << 32 | u64::from(*b));
            Some(*pair.or_insert_with(|| key::joined(&first.stem, &second.raw)))
        });
        Keys { pairs: pairs.collect(), single }
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

    fn expected(terms: &Terms) -> Keys {
        let keys = |terms: &[String]| terms.iter().map(|term| key::of(term)).collect();
        Keys { single: keys(&terms.single), pairs: keys(&terms.pairs) }
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
            assert!(analyser.words.len() <= MOST_OF_QUERIES, "{}", analyser.words.len());
            assert!(analyser.pairs.len() <= MOST_OF_QUERIES, "{}", analyser.pairs.len());
        }
        assert!(!analyser.words.is_empty());
        for query in 0..MOST_OF_QUERIES {
            analyser.keys(&format!("v{} w{} v{0}", query / 100, query % 100));
            analyser.trim_for_queries();
            assert!(analyser.pairs.len() <= MOST_OF_QUERIES, "{}", analyser.pairs.len());
        }
        analyser.keys(&"x".repeat(MOST_OF_QUERIES * BYTES));
        analyser.trim_for_queries();
        assert!(analyser.words.is_empty());
    }
}
