//! Words that unknown words of a query may be misspellings of.

use std::collections::BTreeMap;

use super::analyser::Analyser;
use super::key::{self, Key};
use super::query::Query;
use super::query_scorer::QueryScorer;

/// How many words a misspelt one may mean.
const MAX_CORRECTIONS: usize = 4;

/// For each misspelt word of a query the words that it may mean, by their stems.
#[derive(Debug, Default)]
pub(super) struct SpellingCorrections {
    keys: BTreeMap<Key, Vec<Key>>,
    words: BTreeMap<Key, Vec<String>>,
}

impl SpellingCorrections {
    /// A word is misspelt that no visible item has, nor the thesaurus; it may mean those that
    /// visible items have and that are spelt nearly so.
    pub(super) fn of(scorer: QueryScorer<'_>, query: &Query<'_>, analyser: &Analyser) -> Self {
        let mut this = Self::default();
        let asked = query.whole.single.iter().map(|(key, _)| *key);
        let unknown: Vec<Key> = asked.filter(|key| scorer.is_unknown(*key)).collect();
        if unknown.is_empty() {
            return this;
        }
        for word in query.words.iter().filter_map(|at| analyser.word(*at)) {
            if unknown.binary_search(&word.key).is_err() || this.keys.contains_key(&word.key) {
                continue;
            }
            let seen = |word: &str| scorer.sees_any(key::of(word));
            let near = scorer.index.spelt_like(&word.stem, seen);
            let words: Vec<String> =
                near.into_iter().take(MAX_CORRECTIONS).map(str::to_owned).collect();
            this.keys.insert(word.key, words.iter().map(|word| key::of(word)).collect());
            this.words.insert(word.key, words);
        }
        this
    }

    /// The keys of the words that this one may mean.
    pub(super) fn keys(&self, key: Key) -> &[Key] {
        self.keys.get(&key).map(Vec::as_slice).unwrap_or_default()
    }

    /// The same as words.
    pub(super) fn words(&self, key: Key) -> impl Iterator<Item = &str> {
        self.words.get(&key).into_iter().flatten().map(String::as_str)
    }
}
