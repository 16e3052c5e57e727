//! Texts of a whole catalog into keys: what a word comes to is worked out once.

use std::collections::{HashMap, HashSet};

use weaver_text::{split, stem, stop};

use super::analyse::literal;
use super::key::{self, Key};

/// Most words, and most neighbours, that are kept.
const MAX_KEPT: usize = 1 << 20;

/// The keys of the terms of one text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) single: Vec<Key>,
    pub(super) pairs: Vec<Key>,
}

/// One word as far as it is worked out.
#[derive(Debug)]
struct Word {
    raw: Box<str>,
    stem: Box<str>,
    key: Key,
    stop: bool,
}

/// Gives the keys of texts, the same as those of [`Terms`](super::analyse::Terms).
#[derive(Debug, Default)]
pub(super) struct Analyser {
    words: Vec<Word>,
    places: HashMap<Box<str>, usize>,
    /// The keys of numbers and of words for a version.
    marks: HashSet<Key>,
    pairs: HashMap<(usize, usize), Key>,
}

impl Analyser {
    /// The keys of a text, without stop words.
    pub(super) fn keys(&mut self, text: &str) -> Keys {
        let mut words = self.words(text);
        words.retain(|place| self.words.get(*place).is_some_and(|word| !word.stop));
        self.keys_of(&words)
    }

    /// The keys of a name, which must not come to nothing.
    pub(super) fn keys_of_name(&mut self, text: &str) -> Keys {
        let found = self.keys(text);
        if !found.single.is_empty() {
            return found;
        }
        let words = self.words(text);
        if words.is_empty() {
            let single = literal(text).iter().map(|term| key::of(term)).collect();
            return Keys { single, pairs: Vec::new() };
        }
        self.keys_of(&words)
    }

    /// Whether a key that this analyser gave is that of a number or a word for a version.
    pub(super) fn is_version_mark(&self, key: Key) -> bool {
        self.marks.contains(&key)
    }

    /// Forgets what it has kept, where that is too much. Only between two items.
    pub(super) fn trim(&mut self) {
        if self.words.len() >= MAX_KEPT || self.pairs.len() >= MAX_KEPT {
            *self = Self::default();
        }
    }

    fn words(&mut self, text: &str) -> Vec<usize> {
        split::words(text).into_iter().map(|raw| self.place(raw)).collect()
    }

    fn place(&mut self, raw: String) -> usize {
        if let Some(place) = self.places.get(raw.as_str()) {
            return *place;
        }
        let raw = raw.into_boxed_str();
        let stem: Box<str> = stem::stem(&raw).into();
        let (key, stop) = (key::of(&stem), stop::is_stop_word(&raw));
        if is_version_mark(&stem) {
            self.marks.insert(key);
        }
        let place = self.words.len();
        self.places.insert(raw.clone(), place);
        self.words.push(Word { raw, stem, key, stop });
        place
    }

    fn keys_of(&mut self, words: &[usize]) -> Keys {
        let (known, cached) = (&self.words, &mut self.pairs);
        let single = words.iter().filter_map(|w| known.get(*w)).map(|word| word.key).collect();
        let neighbours = words.iter().zip(words.iter().skip(1));
        let pairs = neighbours.filter_map(|(a, b)| {
            let (first, second) = (known.get(*a)?, known.get(*b)?);
            let pair = cached.entry((*a, *b));
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
    use super::super::analyse::Terms;
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
}
