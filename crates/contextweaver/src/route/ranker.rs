//! Ranks documents by lexical and semantic scores. Near duplicates follow after all originals.

use std::cmp::Ordering;

use super::coverage;
use super::fusion;
use super::hashing::KeyMap;
use super::index::Index;
use super::postings::{DocId, ScoredDoc};
use super::query::{Query, QueryTerms};
use super::query_scorer::QueryScorer;
use super::query_scores::QueryScores;
use super::similarity::SimilaritySource;
use super::term_key::TermKey;

/// How many candidates are compared semantically for a request for one thing.
const CANDIDATES: usize = 64;
/// How many more candidates are compared for each part of a request for several things.
const CANDIDATES_PER_PART: usize = 32;
/// How many items are compared if hardly any shares a word with the query, unless more are
/// requested.
const MAX_NEAREST: usize = 400;
/// If fewer items than this share a word with the query, all items are compared.
const FEW_LEXICAL_HITS: usize = 20;
/// An index of at most this many items is also searched semantically, so that an item can be found
/// that shares no word with the query.
const MAX_EXHAUSTIVE_DOCS: usize = 512;
/// How many of the most similar items are compared in such an index, in addition to those found by
/// words.
const NEAREST_IN_SMALL_INDEX: usize = 64;

/// One document of a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RankedDoc {
    pub(super) doc: DocId,
    /// The final score.
    pub(super) score: u64,
    /// The lexical score.
    pub(super) lexical_score: u32,
    /// The semantic similarity, if it was computed.
    pub(super) similarity: Option<i64>,
    /// Whether it is a near duplicate of a better document.
    pub(super) is_near_duplicate: bool,
    /// The part of the score that comes from accepted routes.
    pub(super) feedback_score: u64,
}

impl RankedDoc {
    pub(super) fn new((doc, lexical_score): ScoredDoc, score: u64) -> Self {
        Self {
            doc,
            score,
            lexical_score,
            similarity: None,
            is_near_duplicate: false,
            feedback_score: 0,
        }
    }
}

/// Ranks the documents of an index by a scorer.
#[derive(Clone, Copy)]
pub(super) struct Ranker<'a> {
    pub(super) index: &'a Index,
    pub(super) scorer: QueryScorer<'a>,
}

/// A document that may be ranked, with its lexical score, which is 0 if it shares no word with the
/// query.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// Documents are sorted by this in ascending order, then by item id.
    sort_key: u64,
    doc: DocId,
    lexical_score: u32,
    /// The group of near duplicates, if another item may be in it.
    near_duplicate_group: Option<TermKey>,
    /// Whether the request is exactly its name and description. It then comes first and never
    /// counts as a near duplicate, so that every item is reachable by its own text.
    is_exact_text: bool,
}

impl Candidate {
    fn scored(self) -> ScoredDoc {
        (self.doc, self.lexical_score)
    }
}

/// How many items are compared semantically.
#[derive(Debug, Clone, Copy)]
struct CandidateCounts {
    /// The best items by lexical score.
    by_words: usize,
    /// The most similar of all other items.
    by_meaning: usize,
}

/// The candidates by lexical score, in no particular order.
struct LexicalCandidates {
    originals: Vec<Candidate>,
    near_duplicates: Vec<Candidate>,
    /// All scores, if the query has several parts.
    scores: Option<QueryScores>,
}

impl Ranker<'_> {
    /// The first `k` documents by lexical score alone.
    pub(super) fn rank_lexical(self, query: &Query<'_>, k: usize) -> Vec<RankedDoc> {
        let wanted = ranking_depth(query, k);
        let LexicalCandidates {
            originals: mut candidates,
            near_duplicates: mut duplicates,
            scores,
        } = self.lexical_candidates(query, wanted);
        self.scorer.pools.release(scores.into_iter().flat_map(QueryScores::into_accumulators));
        self.sort(&mut candidates);
        self.sort(&mut duplicates);
        let max = candidates.iter().map(|found| found.lexical_score).max().unwrap_or(0);
        let ranked = |hits: Vec<Candidate>, is_near_duplicate| {
            hits.into_iter().map(move |candidate| {
                let score = if candidate.is_exact_text { max } else { candidate.lexical_score };
                RankedDoc { is_near_duplicate, ..RankedDoc::new(candidate.scored(), score.into()) }
            })
        };
        self.finish(query, ranked(candidates, false).chain(ranked(duplicates, true)).collect(), k)
    }

    /// The first `k` documents by the fusion of lexical and semantic scores, for the whole query
    /// and for each part. Documents beyond the candidates follow in lexical order, with score 0.
    pub(super) fn rank_hybrid(
        self,
        query: &Query<'_>,
        source: &SimilaritySource<'_>,
        k: usize,
    ) -> Vec<RankedDoc> {
        let wanted = ranking_depth(query, k);
        let compared = CANDIDATES + CANDIDATES_PER_PART * query.parts.len();
        let LexicalCandidates {
            originals: mut candidates,
            near_duplicates: mut duplicates,
            scores,
        } = self.lexical_candidates(query, wanted.max(compared));
        let has_few_hits = candidates.len() < FEW_LEXICAL_HITS;
        let is_small_index = self.index.doc_count() <= MAX_EXHAUSTIVE_DOCS && source.is_table();
        let mut rest = if has_few_hits || is_small_index {
            let by_words = if has_few_hits { candidates.len() } else { compared };
            let by_meaning = if has_few_hits {
                k.max(MAX_NEAREST).saturating_sub(by_words)
            } else {
                NEAREST_IN_SMALL_INDEX
            };
            let counts = CandidateCounts { by_words, by_meaning };
            let rest;
            let known = [candidates, duplicates].concat();
            (candidates, rest, duplicates) = self.with_nearest(query, &known, source, counts);
            rest
        } else {
            self.split_off_after(&mut candidates, compared)
        };
        if source.needs_order() {
            self.sort(&mut candidates);
        }
        let docs: Vec<DocId> = candidates.iter().map(|found| found.doc).collect();
        let pairs = score_pairs(
            candidates.iter().map(|found| found.lexical_score),
            source.similarities(0, &docs),
        );
        let mut fused = fusion::fuse(&pairs, self.semantic_weight(&query.whole, &pairs));
        if let Some(scores) = scores {
            self.add_parts(query, &mut fused, &docs, &scores, source);
            self.scorer.pools.release(scores.into_accumulators());
        }
        let min = fused.iter().copied().min().unwrap_or(0);
        let max = fused.iter().copied().max().unwrap_or(0);
        let fused = fused.into_iter().zip(&candidates);
        let fused = fused.map(|(fused, found)| if found.is_exact_text { max } else { fused });
        let scores = fused.map(|fused| fused.abs_diff(min) + 1);
        let order = self.by_score(scores.collect(), &candidates, wanted);
        let ranked = |(score, at): (u64, usize)| {
            let similarity = pairs.get(at).map(|(_, similarity)| *similarity);
            Some(RankedDoc { similarity, ..RankedDoc::new(candidates.get(at)?.scored(), score) })
        };
        let mut best: Vec<RankedDoc> = order.into_iter().filter_map(ranked).collect();
        if best.len() < wanted {
            self.sort(&mut rest);
            self.sort(&mut duplicates);
            best.extend(rest.into_iter().map(|found| RankedDoc::new(found.scored(), 0)));
            let duplicates = duplicates.into_iter().map(|found| RankedDoc::new(found.scored(), 0));
            best.extend(duplicates.map(|found| RankedDoc { is_near_duplicate: true, ..found }));
        }
        self.finish(query, best, k)
    }

    /// Adds to each candidate its best score for a part of the query. Whole and parts are
    /// normalised first, so that they count equally.
    fn add_parts(
        self,
        query: &Query<'_>,
        fused: &mut [i64],
        docs: &[DocId],
        scores: &QueryScores,
        source: &SimilaritySource<'_>,
    ) {
        let mut best = vec![i64::MIN; docs.len()];
        for (at, (part, accumulator)) in (1..).zip(query.parts.iter().zip(&scores.parts)) {
            let lexical_scores = docs.iter().map(|doc| accumulator.get(*doc));
            let pairs = score_pairs(lexical_scores, source.similarities(at, docs));
            let mut scores = fusion::fuse(&pairs, self.semantic_weight(&part.terms, &pairs));
            fusion::normalise_to_best(&mut scores);
            best.iter_mut().zip(scores).for_each(|(best, score)| *best = score.max(*best));
        }
        fusion::normalise_to_best(fused);
        fused.iter_mut().zip(best).for_each(|(score, best)| *score = score.saturating_add(best));
    }

    /// The weight of the semantic scores, which depends on the best lexical score.
    fn semantic_weight(self, terms: &QueryTerms, pairs: &[(u32, i64)]) -> i64 {
        let best = pairs.iter().map(|(lexical, _)| u64::from(*lexical)).max().unwrap_or(0);
        fusion::semantic_weight(best, self.scorer.max_score_of(terms))
    }

    fn finish(self, query: &Query<'_>, mut ranked: Vec<RankedDoc>, k: usize) -> Vec<RankedDoc> {
        if !query.parts.is_empty() {
            coverage::diversify(self.scorer, self.index, &query.whole, &mut ranked);
        }
        ranked.truncate(k);
        ranked
    }

    /// At least `min_originals` originals, or all of them if there are fewer.
    fn lexical_candidates(self, query: &Query<'_>, min_originals: usize) -> LexicalCandidates {
        // The first documents may have many near duplicates, so more are collected than needed.
        let mut depth = min_originals + min_originals.div_ceil(4);
        let scores = (!query.parts.is_empty()).then(|| self.scorer.score_all(query));
        loop {
            let scored = match &scores {
                Some(scores) => scores.best(depth),
                None => self.scorer.top_k(&query.whole, depth),
            };
            let all = scored.len() < depth;
            let mut found: Vec<Candidate> =
                scored.into_iter().map(|hit| self.candidate(query, hit)).collect();
            self.split_off_after(&mut found, depth);
            let (candidates, duplicates) = self.split_near_duplicates(found);
            if candidates.len() >= min_originals || all {
                return LexicalCandidates {
                    originals: candidates,
                    near_duplicates: duplicates,
                    scores,
                };
            }
            depth *= 4;
        }
    }

    /// Considers all visible documents. Returns the candidates (the best by lexical score, and the
    /// most similar of the others), the remaining originals, and the near duplicates.
    fn with_nearest(
        self,
        query: &Query<'_>,
        known: &[Candidate],
        source: &SimilaritySource<'_>,
        counts: CandidateCounts,
    ) -> (Vec<Candidate>, Vec<Candidate>, Vec<Candidate>) {
        let scores: KeyMap<u32> =
            known.iter().map(|found| (u64::from(found.doc), found.lexical_score)).collect();
        let lexical_score = |doc: DocId| scores.get(&u64::from(doc)).copied().unwrap_or(0);
        let all = self
            .scorer
            .visible()
            .map(|doc| self.candidate(query, (doc, lexical_score(doc))))
            .collect();
        let (mut candidates, duplicates) = self.split_near_duplicates(all);
        let mut rest = self.split_off_after(&mut candidates, counts.by_words);
        if rest.len() > counts.by_meaning {
            let docs: Vec<DocId> = rest.iter().map(|found| found.doc).collect();
            let similarities =
                source.similarities(0, &docs).into_iter().chain(std::iter::repeat(0));
            let mut nearest: Vec<(i64, Candidate)> = similarities.zip(rest).collect();
            nearest.select_nth_unstable_by(counts.by_meaning, |a, b| {
                b.0.cmp(&a.0).then_with(|| self.compare(&a.1, &b.1))
            });
            let left = nearest.split_off(counts.by_meaning);
            rest = left.into_iter().map(|(_, found)| found).collect();
            candidates.extend(nearest.into_iter().map(|(_, found)| found));
        } else {
            candidates.append(&mut rest);
        }
        (candidates, rest, duplicates)
    }

    fn candidate(self, query: &Query<'_>, (doc, lexical_score): ScoredDoc) -> Candidate {
        let signature = self.index.signature(doc);
        let is_exact_text =
            signature.is_some_and(|signature| signature.word_sequence == query.word_sequence);
        let length = signature.map_or(0, |signature| signature.name_length);
        let near_duplicate_group =
            signature.and_then(|signature| self.index.near_duplicate_group(signature));
        let sort_key =
            if is_exact_text { 0 } else { u64::from(!lexical_score) << 32 | u64::from(length) };
        Candidate { sort_key, doc, lexical_score, near_duplicate_group, is_exact_text }
    }

    /// Separates the best document of each near-duplicate group from the others.
    fn split_near_duplicates(self, mut found: Vec<Candidate>) -> (Vec<Candidate>, Vec<Candidate>) {
        let mut candidates: Vec<Candidate> = Vec::with_capacity(found.len());
        found.retain(|found| {
            found.near_duplicate_group.is_some() || {
                candidates.push(*found);
                false
            }
        });
        found.sort_unstable_by(|a, b| {
            a.near_duplicate_group.cmp(&b.near_duplicate_group).then_with(|| self.compare(a, b))
        });
        let mut before = None;
        let (best, duplicates): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| {
            let is_near_duplicate = found.near_duplicate_group == before && !found.is_exact_text;
            before = found.near_duplicate_group;
            !is_near_duplicate
        });
        candidates.extend(best);
        (candidates, duplicates)
    }

    /// Keeps the first `count` documents, in no particular order, and returns the others.
    fn split_off_after(self, found: &mut Vec<Candidate>, count: usize) -> Vec<Candidate> {
        if count >= found.len() {
            return Vec::new();
        }
        found.select_nth_unstable_by(count, |a, b| self.compare(a, b));
        found.split_off(count)
    }

    /// Sorts by higher score, then shorter name, then lower id.
    fn sort(self, found: &mut [Candidate]) {
        found.sort_unstable_by(|a, b| self.compare(a, b));
    }

    fn compare(self, a: &Candidate, b: &Candidate) -> Ordering {
        a.sort_key.cmp(&b.sort_key).then_with(|| self.index.compare_ids(a.doc, b.doc))
    }

    /// The first `count` by these scores, ties broken by lexical order: the score and index of
    /// each.
    fn by_score(self, scores: Vec<u64>, found: &[Candidate], count: usize) -> Vec<(u64, usize)> {
        let mut all: Vec<(u64, usize)> = scores.into_iter().zip(0..).collect();
        let order = |a: &(u64, usize), b: &(u64, usize)| {
            let by_words = || match (found.get(a.1), found.get(b.1)) {
                (Some(a), Some(b)) => self.compare(a, b),
                _ => Ordering::Equal,
            };
            b.0.cmp(&a.0).then_with(by_words)
        };
        if count < all.len() {
            all.select_nth_unstable_by(count, order);
            all.truncate(count);
        }
        all.sort_unstable_by(order);
        all
    }
}

/// How many documents are ranked before `k` of them are returned.
fn ranking_depth(query: &Query<'_>, k: usize) -> usize {
    if query.parts.is_empty() { k } else { k.max(coverage::POOL_SIZE) }
}

/// The lexical score and the similarity of each candidate.
fn score_pairs(
    lexical_scores: impl Iterator<Item = u32>,
    similarities: Vec<i64>,
) -> Vec<(u32, i64)> {
    lexical_scores.zip(similarities.into_iter().chain(std::iter::repeat(0))).collect()
}
