//! Finds spelling corrections for unknown words of a query.

use std::collections::BTreeMap;

use super::analyser::Analyser;
use super::query::Query;
use super::query_scorer::QueryScorer;
use super::term_key::{self, TermKey};

/// The most corrections of one word.
const MAX_CORRECTIONS: usize = 4;

/// The corrections of each misspelt word of a query, by the key of its stem.
#[derive(Debug, Default)]
pub(super) struct SpellingCorrections {
    keys: BTreeMap<TermKey, Vec<TermKey>>,
    words: BTreeMap<TermKey, Vec<String>>,
}

impl SpellingCorrections {
    /// Finds corrections for the words that neither a visible item nor the thesaurus has. Only words
    /// of visible items are suggested.
    pub(super) fn find(scorer: QueryScorer<'_>, query: &Query<'_>, analyser: &Analyser) -> Self {
        let mut this = Self::default();
        let asked = query.whole.unigrams.iter().map(|(key, _)| *key);
        let unknown: Vec<TermKey> = asked.filter(|key| scorer.is_unknown(*key)).collect();
        if unknown.is_empty() {
            return this;
        }
        for word in query.words.iter().filter_map(|at| analyser.word(*at)) {
            if unknown.binary_search(&word.key).is_err() || this.keys.contains_key(&word.key) {
                continue;
            }
            let seen = |word: &str| scorer.has_visible_item(term_key::of_term(word));
            let near = scorer.index.similar_stems(&word.stem, seen);
            let words: Vec<String> =
                near.into_iter().take(MAX_CORRECTIONS).map(str::to_owned).collect();
            this.keys.insert(word.key, words.iter().map(|word| term_key::of_term(word)).collect());
            this.words.insert(word.key, words);
        }
        this
    }

    /// The keys of the corrections of a word.
    pub(super) fn keys(&self, key: TermKey) -> &[TermKey] {
        self.keys.get(&key).map(Vec::as_slice).unwrap_or_default()
    }

    /// The stems of the corrections of a word.
    pub(super) fn words(&self, key: TermKey) -> impl Iterator<Item = &str> {
        self.words.get(&key).into_iter().flatten().map(String::as_str)
    }
}
