//! Answers a request.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use weaver_text::escape::truncate;
use weaver_text::stem;
use weaver_types::CapabilityId;

use super::analyser::{Analyser, Word, WordAt};
use super::answer::{Hit, RouteAnswer};
use super::confidence::Evidence;
use super::corrections::SpellingCorrections;
use super::key;
use super::lexicon::Lexicon;
use super::query::{MAX_QUERY_CHARS, Query, QueryTerms};
use super::query_scorer::QueryScorer;
use super::ranker::{RankedDoc, Ranker};
use super::request::RouteRequest;
use super::selection::Selection;
use super::similarity::Similarity;
use super::{MAX_K, Router, feedback, trace};
use crate::filter::Rule;
use crate::fixed_point::ONE;

/// How many items a reranker is shown.
const RERANKED: usize = 50;
/// What a stop word counts for the meaning of a query.
const STOP_WORD: u64 = 2 * ONE;
/// Longest name, in bytes, that a question repeats.
const MAX_NAME: usize = 80;

impl Router {
    /// Answers a request.
    ///
    /// A selection that another router made shows nothing, and the answer is empty.
    #[must_use]
    pub fn answer(&self, request: &RouteRequest<'_>) -> RouteAnswer {
        let Some((selection, left_out)) = self.admitted(request) else {
            return RouteAnswer { abstained: true, ..RouteAnswer::default() };
        };
        let text = match request.transform {
            Some(transform) => transform.transform(request.query),
            None => request.query.into(),
        };
        let (index, pools) = (&self.index, &*self.pools);
        let (thesaurus, corrections) = (&*self.thesaurus, &SpellingCorrections::default());
        let scorer = QueryScorer { index, pools, selection: &selection, thesaurus, corrections };
        let mut analyser = pools.analysers.take();
        let mut tokens = analyser.tokens(truncate(&text, MAX_QUERY_CHARS));
        let has = |word: &str| scorer.sees_any(key::of(&stem::stem(word)));
        let read = truncate(&text, MAX_QUERY_CHARS);
        let english = tokens.foreign.then(|| Lexicon::built_in().english(read, has)).flatten();
        if let Some(english) = &english {
            tokens = analyser.tokens(truncate(english, MAX_QUERY_CHARS));
        }
        let text = english.map_or(text, Cow::Owned);
        let query = Query::from_tokens(&text, tokens, &mut analyser);
        let scorer = QueryScorer {
            corrections: &SpellingCorrections::of(scorer, &query, &analyser),
            ..scorer
        };
        let k = request.k.min(MAX_K);
        let mut depth = request.filter.map_or(k, |filter| filter.depth(k)).max(2);
        if request.reranker.is_some() {
            depth = depth.max(RERANKED);
        }
        if request.taught.is_some() {
            depth = depth.max(feedback::DEPTH);
        }
        let mut ranked = self.rank(scorer, &query, &analyser, request, depth);
        if let Some((lessons, now)) = request.taught {
            feedback::boost(scorer, query.text, &feedback::Feedback { lessons, now }, &mut ranked);
        }
        analyser.trim_for_queries();
        pools.analysers.give(analyser);
        let evidence = Evidence::of(&ranked, scorer.max_score_of(&query.whole));
        self.rerank(request, &text, &mut ranked);
        let hits = self.arranged(request, &ranked, k);
        let trace = request.traced.then(|| {
            let shown = |hit: &Hit| ranked.iter().find(|r| index.id(r.doc) == Some(&hit.id));
            let shown: Vec<RankedDoc> = hits.iter().filter_map(shown).copied().collect();
            trace::trace(scorer, &query, &shown, evidence, left_out)
        });
        let ambiguous = evidence.is_ambiguous() && hits.len() > 1;
        RouteAnswer {
            question: if ambiguous { self.question(&hits, &ranked) } else { None },
            confidence: if hits.is_empty() { 0 } else { evidence.confidence() },
            abstained: hits.is_empty() || evidence.nothing_fits(),
            ambiguous,
            hits,
            trace,
        }
    }

    /// What takes part, and how many were left out by which rule; nothing where the selection is
    /// not of this router.
    fn admitted(&self, request: &RouteRequest<'_>) -> Option<(Selection, BTreeMap<Rule, usize>)> {
        let all = self.index.all();
        let chosen = request.selection.unwrap_or(&all);
        if !chosen.is_for(self.index.stamp()) {
            return None;
        }
        let mut left_out = BTreeMap::new();
        let Some(filter) = request.filter.filter(|filter| !filter.admits_all()) else {
            return Some((chosen.clone(), left_out));
        };
        let selection = self.index.select_among(chosen, |item| match filter.admits(item) {
            Ok(()) => true,
            Err(rule) => {
                if rule != Rule::Hidden {
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
            return ranker.by_meaning(query, &Similarity::Host { retriever, query, index }, k);
        }
        let Some(meaning) = &self.meaning else { return ranker.by_words(query, k) };
        let worth = |word: &Word| match word.stop {
            true => STOP_WORD,
            false => scorer.rarity(word.key),
        };
        let asked = |words: &[WordAt], terms: &QueryTerms| {
            let words = words.iter().filter_map(|at| analyser.word(*at));
            let words = words.map(|word| (&*word.raw, worth(word)));
            meaning.query_vector(words.chain(scorer.implied_words(terms)))
        };
        let Some(whole) = asked(&query.words, &query.whole) else {
            return ranker.by_words(query, k);
        };
        let parts: Vec<_> =
            query.parts.iter().map(|part| asked(&part.words, &part.terms)).collect();
        let asked = std::iter::once(Some(whole)).chain(parts).collect();
        ranker.by_meaning(query, &Similarity::Table { meaning, asked }, k)
    }

    /// The first items in the order of the host's reranker.
    fn rerank(&self, request: &RouteRequest<'_>, text: &str, ranked: &mut [RankedDoc]) {
        let Some(reranker) = request.reranker else { return };
        let count = ranked.iter().take(RERANKED).take_while(|ranked| !ranked.copy).count();
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

    fn arranged(&self, request: &RouteRequest<'_>, ranked: &[RankedDoc], k: usize) -> Vec<Hit> {
        let mut hits: Vec<Hit> = ranked.iter().filter_map(|ranked| self.hit(*ranked)).collect();
        if let Some(filter) = request.filter.filter(|filter| !filter.keeps_order()) {
            let seen = |id: &CapabilityId| {
                let chosen = request.selection.is_none_or(|s| self.index.is_in(s, id));
                if chosen { self.item(id) } else { None }
            };
            hits = filter.arrange(hits, seen, k);
        }
        hits.truncate(k);
        hits
    }

    fn question(&self, hits: &[Hit], ranked: &[RankedDoc]) -> Option<String> {
        let name = |hit: &Hit| {
            let mut ranked = ranked.iter().filter_map(|ranked| self.index.item(ranked.doc));
            // What a filter pinned needs not be among the ranked.
            let item = ranked.find(|item| item.id == hit.id).or_else(|| self.item(&hit.id));
            let name = item?.display_name();
            Some(
                weaver_text::escape::line(weaver_text::escape::truncate(name, MAX_NAME))
                    .into_owned(),
            )
        };
        let mut names = hits.iter().filter(|hit| !hit.copy).filter_map(name);
        let (first, second) = (names.next()?, names.next()?);
        Some(format!("Which is meant: `{first}` or `{second}`?"))
    }

    fn hit(&self, ranked: RankedDoc) -> Option<Hit> {
        let id = self.index.id(ranked.doc)?.clone();
        Some(Hit { id, score: ranked.score, copy: ranked.copy })
    }
}
