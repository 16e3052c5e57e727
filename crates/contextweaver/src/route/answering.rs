//! Answers a routing request: filters, ranks, reranks and arranges items.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use weaver_text::escape::truncate;
use weaver_text::stem;
use weaver_types::CapabilityId;

use super::analyser::{Analyser, Word, WordId};
use super::answer::{Hit, RouteAnswer};
use super::confidence::RankingFeatures;
use super::corrections::SpellingCorrections;
use super::query::{MAX_QUERY_CHARS, Query, QueryTerms};
use super::query_scorer::QueryScorer;
use super::ranker::{RankedDoc, Ranker};
use super::request::RouteRequest;
use super::selection::Selection;
use super::similarity::SimilaritySource;
use super::term_key;
use super::translation::TranslationTable;
use super::{MAX_K, Router, feedback, trace};
use crate::filter::FilterRule;
use crate::fixed_point::ONE;

/// How many items a reranker gets.
const RERANK_DEPTH: usize = 50;
/// The weight of a stop word in the vector of a query.
const STOP_WORD_WEIGHT: u64 = 2 * ONE;
/// The longest name that a question repeats, in characters.
const MAX_NAME: usize = 80;

impl Router {
    /// Answers a request.
    ///
    /// A selection that another router made contains no items, so the answer is empty.
    #[must_use]
    pub fn answer(&self, request: &RouteRequest<'_>) -> RouteAnswer {
        let Some((selection, left_out)) = self.admit_items(request) else {
            return RouteAnswer { abstained: true, ..RouteAnswer::default() };
        };
        let text = match request.transform {
            Some(transform) => transform.transform(request.query),
            None => request.query.into(),
        };
        let (index, pools) = (&self.index, &*self.pools);
        let (thesaurus, corrections) = (&*self.thesaurus, &SpellingCorrections::default());
        let compares_meaning = self.semantic_index.is_some() || request.retriever.is_some();
        let scorer = QueryScorer {
            index,
            pools,
            selection: &selection,
            thesaurus,
            corrections,
            compares_meaning,
        };
        let mut analyser = pools.analysers.acquire();
        let mut tokens = analyser.analyse(truncate(&text, MAX_QUERY_CHARS));
        let has = |word: &str| scorer.has_visible_item(term_key::of_term(&stem::stem(word)));
        let query_text = truncate(&text, MAX_QUERY_CHARS);
        let english = tokens
            .is_foreign
            .then(|| TranslationTable::built_in().translate(query_text, has))
            .flatten();
        if let Some(english) = &english {
            tokens = analyser.analyse(truncate(english, MAX_QUERY_CHARS));
        }
        let text = english.map_or(text, Cow::Owned);
        let query = Query::from_tokens(&text, tokens, &mut analyser);
        let scorer = QueryScorer {
            corrections: &SpellingCorrections::find(scorer, &query, &analyser),
            ..scorer
        };
        let k = request.k.min(MAX_K);
        let mut depth = request.filter.map_or(k, |filter| filter.ranking_depth(k)).max(2);
        if request.reranker.is_some() {
            depth = depth.max(RERANK_DEPTH);
        }
        if request.lessons.is_some() {
            depth = depth.max(feedback::FEEDBACK_DEPTH);
        }
        let mut ranked = self.rank(scorer, &query, &analyser, request, depth);
        if let Some((lessons, now)) = request.lessons {
            feedback::boost(scorer, query.text, &feedback::Feedback { lessons, now }, &mut ranked);
        }
        analyser.trim_for_queries();
        pools.analysers.release(analyser);
        let evidence = RankingFeatures::from_ranking(&ranked, scorer.max_score_of(&query.whole));
        self.rerank(request, &text, &mut ranked);
        let hits = self.arrange_hits(request, &ranked, k);
        let trace = request.traced.then(|| {
            let shown = |hit: &Hit| ranked.iter().find(|r| index.id(r.doc) == Some(&hit.id));
            let shown: Vec<RankedDoc> = hits.iter().filter_map(shown).copied().collect();
            trace::build_trace(scorer, &query, &shown, evidence, left_out)
        });
        let ambiguous = evidence.is_ambiguous() && hits.len() > 1;
        RouteAnswer {
            question: if ambiguous { self.clarifying_question(&hits, &ranked) } else { None },
            confidence: if hits.is_empty() { 0 } else { evidence.confidence() },
            abstained: hits.is_empty() || evidence.is_no_match(),
            ambiguous,
            hits,
            trace,
        }
    }

    /// The items that take part, and how many each rule left out; `None` if the selection was not made
    /// by this router.
    fn admit_items(
        &self,
        request: &RouteRequest<'_>,
    ) -> Option<(Selection, BTreeMap<FilterRule, usize>)> {
        let all = self.index.all();
        let chosen = request.selection.unwrap_or(&all);
        if !chosen.is_for(self.index.version()) {
            return None;
        }
        let mut left_out = BTreeMap::new();
        let Some(filter) = request.filter.filter(|filter| !filter.admits_all()) else {
            return Some((chosen.clone(), left_out));
        };
        let selection = self.index.select_among(chosen, |item| match filter.admits(item) {
            Ok(()) => true,
            Err(rule) => {
                if rule != FilterRule::Hidden {
                    *left_out.entry(rule).or_default() += 1;
                }
                false
            }
        });
        Some((selection, left_out))
    }

    fn rank(
        &self,
        scorer: QueryScorer<'_>,
        query: &Query<'_>,
        analyser: &Analyser,
        request: &RouteRequest<'_>,
        k: usize,
    ) -> Vec<RankedDoc> {
        let index = &self.index;
        let ranker = Ranker { index, scorer };
        if let Some(retriever) = request.retriever {
            return ranker.rank_hybrid(
                query,
                &SimilaritySource::Host { retriever, query, index },
                k,
            );
        }
        let Some(semantic_index) = &self.semantic_index else {
            return ranker.rank_lexical(query, k);
        };
        let semantic_weight = |word: &Word| match word.is_stop_word {
            true => STOP_WORD_WEIGHT,
            false => scorer.idf(word.key),
        };
        let vector_of = |words: &[WordId], terms: &QueryTerms| {
            let words = words.iter().filter_map(|at| analyser.word(*at));
            let words = words.map(|word| (&*word.raw, semantic_weight(word)));
            semantic_index.query_vector(words, scorer.implied_words(terms))
        };
        let Some(whole) = vector_of(&query.words, &query.whole) else {
            return ranker.rank_lexical(query, k);
        };
        let parts: Vec<_> =
            query.parts.iter().map(|part| vector_of(&part.words, &part.terms)).collect();
        let query_vectors = std::iter::once(Some(whole)).chain(parts).collect();
        ranker.rank_hybrid(query, &SimilaritySource::Table { semantic_index, query_vectors }, k)
    }

    /// Sorts the first items by the scores of the host's reranker.
    fn rerank(&self, request: &RouteRequest<'_>, text: &str, ranked: &mut [RankedDoc]) {
        let Some(reranker) = request.reranker else { return };
        let count =
            ranked.iter().take(RERANK_DEPTH).take_while(|ranked| !ranked.is_near_duplicate).count();
        let Some(first) = ranked.get_mut(..count) else { return };
        let hits: Vec<Hit> = first.iter().filter_map(|ranked| self.hit(*ranked)).collect();
        let items = hits.iter().filter_map(|hit| Some((hit, self.item(&hit.id)?)));
        let scores = reranker.scores(text, &items.collect::<Vec<_>>());
        let scores = scores.into_iter().chain(std::iter::repeat(0));
        for (ranked, score) in first.iter_mut().zip(scores) {
            ranked.score = score;
        }
        first.sort_by_key(|ranked| Reverse(ranked.score));
        for rest in ranked.iter_mut().skip(count) {
            rest.score = 0;
        }
    }

    fn arrange_hits(&self, request: &RouteRequest<'_>, ranked: &[RankedDoc], k: usize) -> Vec<Hit> {
        let mut hits: Vec<Hit> = ranked.iter().filter_map(|ranked| self.hit(*ranked)).collect();
        if let Some(filter) = request.filter.filter(|filter| !filter.keeps_order()) {
            let seen = |id: &CapabilityId| {
                let chosen = request.selection.is_none_or(|s| self.index.contains(s, id));
                if chosen { self.item(id) } else { None }
            };
            hits = filter.arrange(hits, seen, k);
        }
        hits.truncate(k);
        hits
    }

    fn clarifying_question(&self, hits: &[Hit], ranked: &[RankedDoc]) -> Option<String> {
        let name = |hit: &Hit| {
            let mut ranked = ranked.iter().filter_map(|ranked| self.index.item(ranked.doc));
            // A pinned item need not be among the ranked ones.
            let item = ranked.find(|item| item.id == hit.id).or_else(|| self.item(&hit.id));
            let name = item?.display_name();
            Some(
                weaver_text::escape::line(weaver_text::escape::truncate(name, MAX_NAME))
                    .into_owned(),
            )
        };
        let mut names = hits.iter().filter(|hit| !hit.is_near_duplicate).filter_map(name);
        let (first, second) = (names.next()?, names.next()?);
        Some(format!("Which is meant: `{first}` or `{second}`?"))
    }

    fn hit(&self, ranked: RankedDoc) -> Option<Hit> {
        let id = self.index.id(ranked.doc)?.clone();
        Some(Hit { id, score: ranked.score, is_near_duplicate: ranked.is_near_duplicate })
    }
}
