//! Scoring items against a query: BM25F with precomputed impacts, and what a query implies.

use crate::fixed_point::{self, ONE};
use crate::route::accumulator::{self, ScoreAccumulator};
use crate::route::common_words;
use crate::route::corrections::SpellingCorrections;
use crate::route::index::Index;
use crate::route::intent::Expansion;
use crate::route::key::{self, Key};
use crate::route::pool::Pools;
use crate::route::postings::{DocId, PostingsList, ScoredDoc};
use crate::route::query::{Query, QueryTerms, Terms, occurrences};
use crate::route::query_scores::QueryScores;
use crate::route::query_term::{Collector, QueryTerm, SynonymAccumulator, TermScorer, impact};
use crate::route::selection::Selection;
use crate::route::thesaurus::Thesaurus;

/// What an item gains that has only a word standing for the one asked for, of what the word itself
/// would bring.
const SYNONYM_WEIGHT: u64 = ONE / 2;
/// What an item gains that has a word which the request implies, of what the word itself would
/// bring had it been asked for.
const INTENT_WEIGHT: u64 = ONE * 7 / 10;
/// The same for a word that everyday words of the request mean in general.
const EVERYDAY_WEIGHT: u64 = ONE * 4 / 10;
/// The same where the everyday words lead the request: there stands the verb of what is wanted.
const LEADING_WEIGHT: u64 = ONE * 6 / 10;
/// How many words lead a request.
const LEADING_WORDS: u16 = 2;
/// What a word counts that everyday requests are full of.
const COMMON_WORD_WEIGHT: u64 = ONE / 2;
/// The same for the meaning of the request.
const INTENT_SEMANTIC_WEIGHT: u64 = ONE * 7 / 10;
/// The same for the meaning of everyday words.
const EVERYDAY_SEMANTIC_WEIGHT: u64 = ONE * 3 / 10;
/// Requests of more words than this imply less.
const SHORT_QUERY: u64 = 8;
/// The same where it takes a value of a type that the request names.
const ARGUMENT_TYPE_WEIGHT: u64 = ONE / 2;
/// How many items are looked at for words that a request does not have but means.
const MAX_EXPANSION_POSTINGS: u64 = 1024;
/// How many items with such words are looked at for one word; the rarest of them come first.
const MAX_SYNONYM_POSTINGS: u64 = 16 * 1024;

/// What is needed to score.
#[derive(Clone, Copy)]
pub(super) struct QueryScorer<'a> {
    pub(super) index: &'a Index,
    pub(super) pools: &'a Pools,
    pub(super) selection: &'a Selection,
    pub(super) thesaurus: &'a Thesaurus,
    pub(super) corrections: &'a SpellingCorrections,
}

/// What one term brings one item.
#[derive(Debug)]
pub(super) struct ScoreExplanation {
    /// The term that was asked for.
    pub(super) term: String,
    /// The term that was found.
    pub(super) found: String,
    /// How it was met.
    pub(super) by: &'static str,
    pub(super) score: u64,
}

impl<'a> QueryScorer<'a> {
    /// What the visible items score for the whole query and for its parts.
    pub(super) fn scores(self, query: &Query<'_>) -> QueryScores {
        let mut collector = self.pools.collector(self.index.doc_count());
        let mut scored = |terms| {
            let mut accumulator = self.pools.accumulator(self.index.doc_count());
            self.terms(terms, &mut accumulator, collector.synonyms());
            accumulator
        };
        let whole = scored(&query.whole);
        let parts = query.parts.iter().map(|part| scored(&part.terms)).collect();
        self.pools.collectors.give(collector);
        QueryScores::new(whole, parts, accumulator::group(self.index.doc_count()))
    }

    /// The visible items with the `count` highest scores for some terms, and what equals the last
    /// of them; in no particular order.
    pub(super) fn best(self, terms: &QueryTerms, count: usize) -> Vec<ScoredDoc> {
        let mut collector = self.pools.collector(self.index.doc_count());
        let found = collector.best(self.sources(terms), self.selection, count);
        self.pools.collectors.give(collector);
        found
    }

    /// All visible items.
    pub(super) fn visible(self) -> impl Iterator<Item = DocId> {
        let items = DocId::try_from(self.index.doc_count()).unwrap_or(DocId::MAX);
        (0..items).filter(move |doc| self.selection.sees(*doc))
    }

    /// Adds the scores of some terms to the accumulator.
    fn terms(
        self,
        terms: &QueryTerms,
        accumulator: &mut ScoreAccumulator,
        synonyms: &mut SynonymAccumulator,
    ) {
        let selection = self.selection;
        for source in self.sources(terms) {
            source.each(
                synonyms,
                &mut VisibleDocs { accumulator, selection, all: selection.is_all() },
            );
        }
        if selection.is_all() {
            // No list was asked which of its items are still there.
            for doc in self.index.gone() {
                accumulator.take(*doc);
            }
        }
    }

    /// What brings the items their scores: rare terms count more, repeated ones a little more.
    fn sources(self, terms: &QueryTerms) -> Vec<QueryTerm<'a>> {
        let mut sources = Vec::with_capacity(4 * terms.single.len());
        for (key, count) in &terms.single {
            let (own, pairs) = (self.index.single(*key), self.index.pairs(*key));
            let factor = if common_words::contains(*key) { COMMON_WORD_WEIGHT } else { ONE };
            sources.extend(self.word(own, *count, factor));
            sources.extend(self.word(pairs, *count, factor / 2));
            sources.extend(self.synonyms(terms, *key, *count, own));
        }
        for (key, count) in &terms.pairs {
            sources.extend(self.word(self.index.pairs(*key), *count, ONE / 2));
            sources.extend(self.word(self.index.single(*key), *count, ONE / 2));
        }
        sources.extend(self.expansions(terms));
        for key in &terms.types {
            sources.extend(self.word(self.index.single(*key), 1, ARGUMENT_TYPE_WEIGHT));
        }
        sources
    }

    /// What items gain by words that the request does not have: the rarest first, as they say most
    /// and are read fastest, until so many items were looked at as may be.
    fn expansions(self, asked: &QueryTerms) -> impl Iterator<Item = QueryTerm<'a>> {
        let implied = asked.implied.iter().filter_map(|words| self.implied(asked, words));
        let everyday = asked.everyday.iter().filter_map(|words| self.everyday(asked, words));
        let mut all: Vec<_> = implied.chain(everyday).collect();
        all.sort_by_key(|(seen, _)| *seen);
        let mut room = MAX_EXPANSION_POSTINGS;
        let fits = move |(seen, source)| {
            room = u64::checked_sub(room, seen)?;
            Some(source)
        };
        all.into_iter().map_while(fits)
    }

    /// What words that the request does not have but means bring the item with this id.
    pub(super) fn explain_expansions(
        self,
        asked: &QueryTerms,
        doc: DocId,
    ) -> Option<ScoreExplanation> {
        let score = self.expansions(asked).map(|source| u64::from(source.at(doc))).sum();
        let none = String::new;
        (score > 0).then(|| ScoreExplanation { term: none(), found: none(), by: "meant", score })
    }

    /// What items gain by words that a request implies: by the best of those that stand for one
    /// another. Nothing where one of them was asked for as it is.
    fn implied(
        self,
        asked: &QueryTerms,
        expansion: &Expansion<'_>,
    ) -> Option<(u64, QueryTerm<'a>)> {
        let keys = &expansion.implied.keys;
        match keys.iter().any(|key| asked.has(*key)) {
            true => None,
            false => self.best_of(asked, keys, INTENT_WEIGHT, PostingsList::default()),
        }
    }

    /// What items gain by words that everyday words mean: by the best of them. Nothing where they
    /// have the word that was asked for.
    fn everyday(
        self,
        asked: &QueryTerms,
        expansion: &Expansion<'_>,
    ) -> Option<(u64, QueryTerm<'a>)> {
        let keys = &expansion.implied.keys;
        let own = keys.iter().find(|key| asked.has(**key));
        let own = own.map(|key| self.index.single(*key)).unwrap_or_default();
        let share =
            if expansion.position < LEADING_WORDS { LEADING_WEIGHT } else { EVERYDAY_WEIGHT };
        self.best_of(asked, keys, share, own)
    }

    /// What items gain by the best of these words that were not asked for, and how many have any.
    fn best_of(
        self,
        asked: &QueryTerms,
        keys: &[Key],
        share: u64,
        own: PostingsList<'a>,
    ) -> Option<(u64, QueryTerm<'a>)> {
        // The more a request says, the less depends on what is read into it.
        let factor = fixed_point::ratio(share * SHORT_QUERY, ONE * asked.length.max(SHORT_QUERY));
        let mut all = 0;
        let scorer = |key: &Key| {
            let list = self.index.single(*key);
            let seen = self.selection.seen(list);
            all += seen;
            Some(TermScorer { postings: list, weight: self.term_weight(seen, 1, factor) })
                .filter(|scorer| scorer.weight > 0)
        };
        let others: Vec<_> =
            keys.iter().filter(|key| !asked.has(**key)).filter_map(scorer).collect();
        (!others.is_empty()).then_some((all, QueryTerm::Synonyms { own, others }))
    }

    /// Words that a request implies, and what each is worth for the meaning of it.
    pub(super) fn implied_words(self, asked: &QueryTerms) -> impl Iterator<Item = (&str, u64)> {
        let factor =
            |share| fixed_point::ratio(share * SHORT_QUERY, ONE * asked.length.max(SHORT_QUERY));
        let (implied, everyday) =
            (factor(INTENT_SEMANTIC_WEIGHT), factor(EVERYDAY_SEMANTIC_WEIGHT));
        let implied = asked.implied.iter().map(move |expansion| (expansion, implied));
        let everyday = asked.everyday.iter().map(move |expansion| (expansion, everyday));
        implied.chain(everyday).flat_map(move |(expansion, factor)| {
            let list = expansion.implied;
            let words = list.words.iter().zip(&list.keys);
            let share = factor / (list.words.len() as u64).max(1);
            words.map(move |(word, key)| (&**word, fixed_point::mul(self.rarity(*key), share)))
        })
    }

    fn word(self, postings: PostingsList<'a>, count: u64, factor: u64) -> Option<QueryTerm<'a>> {
        let weight = self.term_weight(self.selection.seen(postings), count, factor);
        (weight > 0).then_some(QueryTerm::Term(TermScorer { postings, weight }))
    }

    /// What items gain that have not a word but one that stands for it: the most that one such
    /// word brings, and never more for a rarer word than for the one asked for.
    fn synonyms(
        self,
        asked: &QueryTerms,
        key: Key,
        count: u64,
        own: PostingsList<'a>,
    ) -> Option<QueryTerm<'a>> {
        let is_asked = |other: &Key| asked.single.binary_search_by_key(other, |(key, _)| *key);
        let others = self.thesaurus.keys(key).iter().chain(self.corrections.keys(key));
        let others = others.filter(|other| is_asked(other).is_err());
        let lists = others.map(|other| self.index.single(*other)).filter(|list| !list.is_empty());
        let mut lists: Vec<_> = lists.map(|list| (self.selection.seen(list), list)).collect();
        if lists.is_empty() {
            return None;
        }
        lists.sort_by_key(|(seen, _)| *seen);
        let most = match self.term_weight(self.selection.seen(own), count, SYNONYM_WEIGHT) {
            0 => u64::MAX,
            term_weight => term_weight,
        };
        let mut room = MAX_SYNONYM_POSTINGS;
        lists.retain(|(seen, _)| {
            // What comes behind one without room is no rarer, so it has none either.
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

    /// Whether no visible item has the word, and no other stands for it.
    pub(super) fn is_unknown(self, key: Key) -> bool {
        let none = |list| self.selection.seen(list) == 0;
        !self.thesaurus.knows(key) && none(self.index.single(key)) && none(self.index.pairs(key))
    }

    /// Whether a visible item has the word.
    pub(super) fn sees_any(self, key: Key) -> bool {
        self.selection.seen(self.index.single(key)) > 0
    }

    /// What all terms would be worth to an item that has each of them once.
    pub(super) fn max_score_of(self, terms: &QueryTerms) -> u64 {
        terms.single.iter().map(|(key, _)| self.rarity(*key)).sum()
    }

    /// What each term brings the item with this id, in the order in which terms are scored.
    pub(super) fn explain(self, terms: &Terms, doc: DocId) -> Vec<ScoreExplanation> {
        let mut shares = Vec::new();
        let mut add =
            |term: &str, found: &str, by, postings: PostingsList<'_>, term_weight: u64| {
                let score = postings.at(doc).map_or(0, |weight| impact(term_weight, weight).into());
                if term_weight > 0 && score > 0 {
                    let (term, found) = (term.to_owned(), found.to_owned());
                    shares.push(ScoreExplanation { term, found, by, score });
                }
            };
        let weight_of =
            |list, count, factor| self.term_weight(self.selection.seen(list), count, factor);
        for (term, count) in occurrences(&terms.single) {
            let (single, pairs) =
                (self.index.single(key::of(term)), self.index.pairs(key::of(term)));
            let factor =
                if common_words::contains(key::of(term)) { COMMON_WORD_WEIGHT } else { ONE };
            add(term, term, "word", single, weight_of(single, count, factor));
            add(term, term, "pair", pairs, weight_of(pairs, count, factor / 2));
            if single.at(doc).is_none()
                && let Some((other, term_weight)) = self.best_synonym(terms, term, count, doc)
            {
                let known = self.thesaurus.knows(key::of(term));
                let by = if known { "instead" } else { "spelling" };
                add(term, &other, by, self.index.single(key::of(&other)), term_weight);
            }
        }
        for (term, count) in occurrences(&terms.pairs) {
            let (single, pairs) =
                (self.index.single(key::of(term)), self.index.pairs(key::of(term)));
            add(term, term, "pair", pairs, weight_of(pairs, count, ONE / 2));
            add(term, term, "word", single, weight_of(single, count, ONE / 2));
        }
        shares
    }

    /// The word that stands for this one and brings the item most, and what a whole weight of it
    /// is worth.
    fn best_synonym(
        self,
        asked: &Terms,
        term: &str,
        count: u64,
        doc: DocId,
    ) -> Option<(String, u64)> {
        let weight_of = |list| self.term_weight(self.selection.seen(list), count, SYNONYM_WEIGHT);
        let most = match weight_of(self.index.single(key::of(term))) {
            0 => u64::MAX,
            term_weight => term_weight,
        };
        let others = self.thesaurus.others(term).chain(self.corrections.words(key::of(term)));
        let others = others.filter(|other| !asked.single.iter().any(|asked| asked == other));
        let worth = others.filter_map(|other| {
            let list = self.index.single(key::of(other));
            let term_weight = weight_of(list).min(most);
            Some((term_weight * list.at(doc)?, other.to_owned(), term_weight))
        });
        worth.max().map(|(_, other, term_weight)| (other, term_weight))
    }

    /// Each of these terms that a visible item has, and how rare it is.
    pub(super) fn weights_of(self, terms: &QueryTerms) -> Vec<(Key, u64)> {
        let worth = terms.single.iter().map(|(key, _)| {
            (*key, self.term_weight(self.selection.seen(self.index.single(*key)), 1, ONE))
        });
        worth.filter(|(_, worth)| *worth > 0).collect()
    }

    /// How rare a stem is among the visible items, also where none has it.
    pub(super) fn rarity(self, key: Key) -> u64 {
        self.rare(self.selection.seen(self.index.single(key)))
    }

    fn rare(self, seen: u64) -> u64 {
        fixed_point::ln(2 * self.selection.count() + 2, 2 * seen + 1)
    }

    /// What a whole weight of a term is worth that so many visible items hold; nothing where none
    /// does.
    fn term_weight(self, seen: u64, count: u64, factor: u64) -> u64 {
        if seen == 0 {
            return 0;
        }
        let repeated = ONE + fixed_point::ln(count, 1);
        fixed_point::mul(fixed_point::mul(self.rare(seen), repeated), factor).max(1)
    }
}

/// Collects what is visible, and where all is, what was deleted too.
struct VisibleDocs<'a> {
    accumulator: &'a mut ScoreAccumulator,
    selection: &'a Selection,
    all: bool,
}

impl Collector for VisibleDocs<'_> {
    #[inline]
    fn accepts(&self, doc: DocId) -> bool {
        self.all || self.selection.sees(doc)
    }

    #[inline]
    fn collect(&mut self, doc: DocId, score: u32) {
        if self.accepts(doc) {
            self.accumulator.add(doc, score);
        }
    }
}
