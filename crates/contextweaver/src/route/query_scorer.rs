//! Scores items against a query: BM25F with precomputed weights, plus synonyms and expansions.
//!
//! [`QueryScorer::query_terms`] builds the addends of a score; `score_explanation` repeats the same rules
//! for one document, so that a trace can name terms. The two have to be changed together.

use crate::fixed_point::{self, ONE};
use crate::route::accumulator::{self, ScoreAccumulator};
use crate::route::common_words;
use crate::route::corrections::SpellingCorrections;
use crate::route::index::Index;
use crate::route::intent::Expansion;
use crate::route::pool::Pools;
use crate::route::postings::{DocId, PostingsList, ScoredDoc};
use crate::route::query::{Query, QueryTerms};
use crate::route::query_scores::QueryScores;
use crate::route::query_term::{Collector, QueryTerm, SynonymAccumulator, TermScorer};
use crate::route::selection::Selection;
use crate::route::term_key::TermKey;
use crate::route::thesaurus::Thesaurus;

/// Factor for a synonym, relative to the word of the query.
pub(super) const SYNONYM_WEIGHT: u64 = ONE / 2;
/// Factor for a word that an intent rule implies, relative to a word of the query.
const INTENT_WEIGHT: u64 = ONE * 7 / 10;
/// Factor for a word that an everyday word of the request stands for.
const EVERYDAY_WEIGHT: u64 = ONE * 4 / 10;
/// Factor for such a word if the everyday word is at the beginning of the request, where the verb is.
const LEADING_WEIGHT: u64 = ONE * 6 / 10;
/// Factor for a word that a phrase of several words stands for: less is left to interpretation.
const PHRASE_WEIGHT: u64 = ONE * 7 / 10;
/// How many words count as the beginning of a request.
const LEADING_WORDS: u16 = 2;
/// Factor for a word of the query that is common in everyday requests.
pub(super) const COMMON_WORD_WEIGHT: u64 = ONE / 2;
/// Factor for a word that an intent rule implies, in the vector of the request.
const INTENT_SEMANTIC_WEIGHT: u64 = ONE * 7 / 10;
/// Factor for what rules and everyday words imply where items are not compared by meaning: there the words
/// of the request imply others by associations too, which were trained on more requests.
const EXPANSION_WEIGHT_WITHOUT_MEANING: u64 = ONE * 8 / 10;
/// Above this number of words, the weight of expansions falls with the length of a request.
const SHORT_QUERY: u64 = 8;
/// Factor for an item with an argument of a type that the request contains.
const ARGUMENT_TYPE_WEIGHT: u64 = ONE / 2;
/// The most postings that are read for what rules and everyday words of one request imply.
const MAX_EXPANSION_POSTINGS: u64 = 1024;
/// The most postings that are read for the synonyms of one word; rarer synonyms come first.
const MAX_SYNONYM_POSTINGS: u64 = 16 * 1024;

/// Everything that scoring needs.
#[derive(Clone, Copy)]
pub(super) struct QueryScorer<'a> {
    pub(super) index: &'a Index,
    pub(super) pools: &'a Pools,
    pub(super) selection: &'a Selection,
    pub(super) thesaurus: &'a Thesaurus,
    pub(super) corrections: &'a SpellingCorrections,
    /// Whether items are compared by meaning too.
    pub(super) compares_meaning: bool,
}

impl<'a> QueryScorer<'a> {
    /// The scores of the visible items for the whole query and for each part.
    pub(super) fn score_all(self, query: &Query<'_>) -> QueryScores {
        let mut collector = self.pools.collector(self.index.doc_count());
        let mut scored = |terms| {
            let mut accumulator = self.pools.accumulator(self.index.doc_count());
            self.accumulate(terms, &mut accumulator, collector.synonyms());
            accumulator
        };
        let whole = scored(&query.whole);
        let parts = query.parts.iter().map(|part| scored(&part.terms)).collect();
        self.pools.collectors.release(collector);
        QueryScores::new(whole, parts, accumulator::group_size(self.index.doc_count()))
    }

    /// The visible items with the `count` highest scores for some terms, including ties with the last;
    /// in no particular order.
    pub(super) fn top_k(self, terms: &QueryTerms, count: usize) -> Vec<ScoredDoc> {
        let mut collector = self.pools.collector(self.index.doc_count());
        let found = collector.best(self.query_terms(terms), self.selection, count);
        self.pools.collectors.release(collector);
        found
    }

    /// All visible documents.
    pub(super) fn visible(self) -> impl Iterator<Item = DocId> {
        let items = DocId::try_from(self.index.doc_count()).unwrap_or(DocId::MAX);
        (0..items).filter(move |doc| self.selection.contains(*doc))
    }

    /// Adds the scores of some terms to the accumulator.
    fn accumulate(
        self,
        terms: &QueryTerms,
        accumulator: &mut ScoreAccumulator,
        synonyms: &mut SynonymAccumulator,
    ) {
        let selection = self.selection;
        for source in self.query_terms(terms) {
            source.for_each(
                synonyms,
                &mut VisibleDocs { accumulator, selection, all: selection.is_all() },
            );
        }
        if selection.is_all() {
            // Deleted documents were not filtered out while the lists were read.
            for doc in self.index.deleted_docs() {
                accumulator.take(*doc);
            }
        }
    }

    /// The addends of the score. A term is weighted by its inverse document frequency, and a repeated
    /// one a little more.
    fn query_terms(self, terms: &QueryTerms) -> Vec<QueryTerm<'a>> {
        let mut sources = Vec::with_capacity(4 * terms.unigrams.len());
        for (key, count) in &terms.unigrams {
            let (own, bigrams) = (self.index.unigrams(*key), self.index.bigrams(*key));
            let factor = if common_words::contains(*key) { COMMON_WORD_WEIGHT } else { ONE };
            sources.extend(self.single_term(own, *count, factor));
            sources.extend(self.single_term(bigrams, *count, factor / 2));
            sources.extend(self.synonym_term(terms, *key, *count, own));
        }
        for (key, count) in &terms.bigrams {
            sources.extend(self.single_term(self.index.bigrams(*key), *count, ONE / 2));
            sources.extend(self.single_term(self.index.unigrams(*key), *count, ONE / 2));
        }
        sources.extend(self.expansions(terms));
        for key in &terms.types {
            sources.extend(self.single_term(self.index.unigrams(*key), 1, ARGUMENT_TYPE_WEIGHT));
        }
        sources
    }

    /// The expansions of a request: of rules, rarest first, until the limit of postings is reached, since rare
    /// words are the most specific and the fastest to read; then what its words imply.
    pub(super) fn expansions(self, asked: &QueryTerms) -> impl Iterator<Item = QueryTerm<'a>> {
        let implied =
            asked.intent_expansions.iter().filter_map(|words| self.intent_term(asked, words));
        let everyday =
            asked.everyday_expansions.iter().filter_map(|words| self.everyday_term(asked, words));
        let mut all: Vec<_> = implied.chain(everyday).collect();
        all.sort_by_key(|(seen, _)| *seen);
        let mut room = MAX_EXPANSION_POSTINGS;
        let fits = move |(seen, source)| {
            room = u64::checked_sub(room, seen)?;
            Some(source)
        };
        all.into_iter().map_while(fits).chain(self.associated_terms(asked))
    }

    /// The addend for words that an intent rule implies; `None` if the query contains one of them.
    fn intent_term(
        self,
        asked: &QueryTerms,
        expansion: &Expansion<'_>,
    ) -> Option<(u64, QueryTerm<'a>)> {
        let keys = &expansion.implied.keys;
        match keys.iter().any(|key| asked.has(*key)) {
            true => None,
            false => self.expansion_term(asked, keys, INTENT_WEIGHT, PostingsList::default()),
        }
    }

    /// The addend for words that an everyday word stands for. Items with the word of the query get
    /// nothing.
    fn everyday_term(
        self,
        asked: &QueryTerms,
        expansion: &Expansion<'_>,
    ) -> Option<(u64, QueryTerm<'a>)> {
        let keys = &expansion.implied.keys;
        let own = keys.iter().find(|key| asked.has(**key));
        let own = own.map(|key| self.index.unigrams(*key)).unwrap_or_default();
        let share = match expansion {
            Expansion { length: 2.., .. } => PHRASE_WEIGHT,
            Expansion { position: ..LEADING_WORDS, .. } => LEADING_WEIGHT,
            _ => EVERYDAY_WEIGHT,
        };
        self.expansion_term(asked, keys, share, own)
    }

    /// The addend for the best of these words that are not in the query, with the number of postings.
    fn expansion_term(
        self,
        asked: &QueryTerms,
        keys: &[TermKey],
        share: u64,
        own: PostingsList<'a>,
    ) -> Option<(u64, QueryTerm<'a>)> {
        let beside = if self.compares_meaning { ONE } else { EXPANSION_WEIGHT_WITHOUT_MEANING };
        let factor = expansion_factor(asked, fixed_point::mul(share, beside));
        let mut all = 0;
        let scorer = |key: &TermKey| {
            let list = self.index.unigrams(*key);
            let seen = self.selection.count_visible(list);
            all += seen;
            Some(TermScorer { postings: list, weight: self.term_weight(seen, 1, factor) })
                .filter(|scorer| scorer.weight > 0)
        };
        let others: Vec<_> =
            keys.iter().filter(|key| !asked.has(**key)).filter_map(scorer).collect();
        (!others.is_empty()).then_some((all, QueryTerm::Synonyms { own, others }))
    }

    /// The words that a request implies, with their weights in its vector.
    pub(super) fn implied_words(self, asked: &QueryTerms) -> impl Iterator<Item = (&str, u64)> {
        let factor = expansion_factor(asked, INTENT_SEMANTIC_WEIGHT);
        asked.intent_expansions.iter().flat_map(move |expansion| {
            let list = expansion.implied;
            let words = list.words.iter().zip(&list.keys);
            let share = factor / (list.words.len() as u64).max(1);
            words.map(move |(word, key)| (&**word, fixed_point::mul(self.idf(*key), share)))
        })
    }

    fn single_term(
        self,
        postings: PostingsList<'a>,
        count: u64,
        factor: u64,
    ) -> Option<QueryTerm<'a>> {
        let weight = self.term_weight(self.selection.count_visible(postings), count, factor);
        (weight > 0).then_some(QueryTerm::Term(TermScorer { postings, weight }))
    }

    /// The addend for items that lack a word of the query but contain a synonym or correction: the best
    /// of these counts. A synonym never has a higher weight than the word itself would have, even if it
    /// is rarer.
    fn synonym_term(
        self,
        asked: &QueryTerms,
        key: TermKey,
        count: u64,
        own: PostingsList<'a>,
    ) -> Option<QueryTerm<'a>> {
        let is_asked =
            |other: &TermKey| asked.unigrams.binary_search_by_key(other, |(key, _)| *key);
        let others = self.thesaurus.synonym_keys(key).iter().chain(self.corrections.keys(key));
        let others = others.filter(|other| is_asked(other).is_err());
        let lists =
            others.map(|other| self.index.unigrams(*other)).filter(|list| !list.has_no_postings());
        let mut lists: Vec<_> =
            lists.map(|list| (self.selection.count_visible(list), list)).collect();
        if lists.is_empty() {
            return None;
        }
        lists.sort_by_key(|(seen, _)| *seen);
        let most = match self.term_weight(self.selection.count_visible(own), count, SYNONYM_WEIGHT)
        {
            0 => u64::MAX,
            term_weight => term_weight,
        };
        let mut room = MAX_SYNONYM_POSTINGS;
        lists.retain(|(seen, _)| {
            // Once a list does not fit, later ones do not either, because they are not shorter.
            let left = room.checked_sub(*seen);
            room = left.unwrap_or(0);
            left.is_some()
        });
        let scorer = |(seen, list)| TermScorer {
            postings: list,
            weight: self.term_weight(seen, count, SYNONYM_WEIGHT).min(most),
        };
        let others: Vec<_> =
            lists.into_iter().map(scorer).filter(|scorer| scorer.weight > 0).collect();
        (!others.is_empty()).then_some(QueryTerm::Synonyms { own, others })
    }

    /// Whether no visible item contains the word and it has no synonyms.
    pub(super) fn is_unknown(self, key: TermKey) -> bool {
        let none = |list| self.selection.count_visible(list) == 0;
        !self.thesaurus.contains(key)
            && none(self.index.unigrams(key))
            && none(self.index.bigrams(key))
    }

    /// Whether a visible item contains the word.
    pub(super) fn has_visible_item(self, key: TermKey) -> bool {
        self.selection.count_visible(self.index.unigrams(key)) > 0
    }

    /// The score of a hypothetical item that contains each term once with full weight.
    pub(super) fn max_score_of(self, terms: &QueryTerms) -> u64 {
        terms.unigrams.iter().map(|(key, _)| self.idf(*key)).sum()
    }

    /// The terms that a visible item contains, with their inverse document frequencies.
    pub(super) fn idf_of_terms(self, terms: &QueryTerms) -> Vec<(TermKey, u64)> {
        let worth = terms.unigrams.iter().map(|(key, _)| {
            (
                *key,
                self.term_weight(self.selection.count_visible(self.index.unigrams(*key)), 1, ONE),
            )
        });
        worth.filter(|(_, worth)| *worth > 0).collect()
    }

    /// The inverse document frequency of a stem among the visible items, also if none contains it.
    pub(super) fn idf(self, key: TermKey) -> u64 {
        self.idf_of_count(self.selection.count_visible(self.index.unigrams(key)))
    }

    fn idf_of_count(self, seen: u64) -> u64 {
        fixed_point::ln(2 * self.selection.count() + 2, 2 * seen + 1)
    }

    /// The weight of a term in the query, given its document frequency; 0 if no visible item contains
    /// it.
    pub(super) fn term_weight(self, seen: u64, count: u64, factor: u64) -> u64 {
        if seen == 0 {
            return 0;
        }
        let repeated = ONE + fixed_point::ln(count, 1);
        fixed_point::mul(fixed_point::mul(self.idf_of_count(seen), repeated), factor).max(1)
    }
}

/// The factor of an expansion: the more a request says, the less depends on interpretation.
pub(super) fn expansion_factor(asked: &QueryTerms, share: u64) -> u64 {
    fixed_point::ratio(share * SHORT_QUERY, ONE * asked.word_count.max(SHORT_QUERY))
}

/// Collects visible documents. If all items are visible it does not filter, so deleted documents are
/// collected too.
struct VisibleDocs<'a> {
    accumulator: &'a mut ScoreAccumulator,
    selection: &'a Selection,
    all: bool,
}

impl Collector for VisibleDocs<'_> {
    #[inline]
    fn accepts(&self, doc: DocId) -> bool {
        self.all || self.selection.contains(doc)
    }

    #[inline]
    fn collect(&mut self, doc: DocId, score: u32) {
        if self.accepts(doc) {
            self.accumulator.add(doc, score);
        }
    }
}
