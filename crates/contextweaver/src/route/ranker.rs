//! Ranks documents by words and by meaning; copies come behind their originals.

use std::cmp::Ordering;

use super::coverage;
use super::fusion;
use super::hashing::KeyMap;
use super::index::Index;
use super::key::Key;
use super::postings::{DocId, ScoredDoc};
use super::query::{Query, QueryTerms};
use super::query_scorer::QueryScorer;
use super::query_scores::QueryScores;
use super::similarity::Similarity;

/// How many items are compared by meaning for a request for one thing.
const CANDIDATES: usize = 64;
/// How many more are compared for each part of a request for several things.
const CANDIDATES_OF_PART: usize = 32;
/// How many are compared where hardly any share a word with the query; more if more are asked for.
const NEAREST: usize = 400;
/// Where fewer items than this share a word with the query, all are compared.
const FEW: usize = 20;
/// An index of at most so many items is searched by meaning too, so that an item can be found that
/// shares no word with the query.
const SEARCHED_BY_MEANING: usize = 512;
/// How many of the nearest are then compared beside those found by words.
const NEAREST_OF_SMALL: usize = 64;

/// One place of a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RankedDoc {
    pub(super) doc: DocId,
    /// What it is ranked by.
    pub(super) score: u64,
    /// The score of its words.
    pub(super) words: u32,
    /// How near it is by meaning, where that was looked at.
    pub(super) near: Option<i64>,
    /// Whether it is a near copy of a better one.
    pub(super) copy: bool,
    /// What accepted routes add to its score.
    pub(super) learned: u64,
}

impl RankedDoc {
    pub(super) fn new((doc, words): ScoredDoc, score: u64) -> Self {
        Self { doc, score, words, near: None, copy: false, learned: 0 }
    }
}

/// What makes an order from scores.
#[derive(Clone, Copy)]
pub(super) struct Ranker<'a> {
    pub(super) index: &'a Index,
    pub(super) scorer: QueryScorer<'a>,
}

/// An item found by its words.
#[derive(Debug, Clone, Copy)]
struct LexicalHit {
    /// The lower comes first; among equals the lower id.
    order: u64,
    hit: ScoredDoc,
    /// What it says, where another item may say the same.
    gist: Option<Key>,
    /// Whether the request is its name and its description. It comes first then, and is no copy, so
    /// that nothing is out of reach of its own text.
    own_text: bool,
}

/// How many items are compared with the query by meaning.
#[derive(Debug, Clone, Copy)]
struct CandidateCounts {
    /// The best by words.
    by_words: usize,
    /// The nearest of all others.
    by_meaning: usize,
}

/// Items by their words, in no particular order.
struct LexicalRanking {
    first: Vec<LexicalHit>,
    copies: Vec<LexicalHit>,
    /// Where the query has several parts.
    scores: Option<QueryScores>,
}

impl Ranker<'_> {
    /// The first `k` by words alone.
    pub(super) fn by_words(self, query: &Query<'_>, k: usize) -> Vec<RankedDoc> {
        let wanted = wanted(query, k);
        let LexicalRanking { mut first, mut copies, scores } = self.words(query, wanted);
        self.scorer.pools.give(scores.into_iter().flat_map(QueryScores::into_accumulators));
        self.sort(&mut first);
        self.sort(&mut copies);
        let most = first.iter().map(|found| found.hit.1).max().unwrap_or(0);
        let ranked = |hits: Vec<LexicalHit>, copy| {
            hits.into_iter().map(move |LexicalHit { hit, own_text, .. }| {
                let score = if own_text { most } else { hit.1 };
                RankedDoc { copy, ..RankedDoc::new(hit, score.into()) }
            })
        };
        self.chosen(query, ranked(first, false).chain(ranked(copies, true)).collect(), k)
    }

    /// The first `k` by words and by how near they are to the whole query and to each part of it.
    /// Items beyond the candidates follow in the order of their words, with no score.
    pub(super) fn by_meaning(
        self,
        query: &Query<'_>,
        near: &Similarity<'_>,
        k: usize,
    ) -> Vec<RankedDoc> {
        let wanted = wanted(query, k);
        let compared = CANDIDATES + CANDIDATES_OF_PART * query.parts.len();
        let LexicalRanking { mut first, mut copies, scores } =
            self.words(query, wanted.max(compared));
        let few = first.len() < FEW;
        let small = self.index.doc_count() <= SEARCHED_BY_MEANING && near.is_table();
        let mut rest = if few || small {
            let by_words = if few { first.len() } else { compared };
            let by_meaning =
                if few { k.max(NEAREST).saturating_sub(by_words) } else { NEAREST_OF_SMALL };
            let counts = CandidateCounts { by_words, by_meaning };
            let rest;
            let known = [first, copies].concat();
            (first, rest, copies) = self.with_nearest(query, &known, near, counts);
            rest
        } else {
            self.cut(&mut first, compared)
        };
        if near.wants_order() {
            self.sort(&mut first);
        }
        let docs: Vec<DocId> = first.iter().map(|found| found.hit.0).collect();
        let pairs = pairs(first.iter().map(|found| found.hit.1), near.of(0, &docs));
        let mut fused = fusion::fuse(&pairs, self.meaning(&query.whole, &pairs));
        if let Some(scores) = scores {
            self.add_parts(query, &mut fused, &docs, &scores, near);
            self.scorer.pools.give(scores.into_accumulators());
        }
        let least = fused.iter().copied().min().unwrap_or(0);
        let most = fused.iter().copied().max().unwrap_or(0);
        let fused = fused.into_iter().zip(&first);
        let fused = fused.map(|(fused, found)| if found.own_text { most } else { fused });
        let scores = fused.map(|fused| fused.abs_diff(least) + 1);
        let order = self.by_score(scores.collect(), &first, wanted);
        let ranked = |(score, at): (u64, usize)| {
            let near = pairs.get(at).map(|(_, near)| *near);
            Some(RankedDoc { near, ..RankedDoc::new(first.get(at)?.hit, score) })
        };
        let mut best: Vec<RankedDoc> = order.into_iter().filter_map(ranked).collect();
        if best.len() < wanted {
            self.sort(&mut rest);
            self.sort(&mut copies);
            best.extend(rest.into_iter().map(|found| RankedDoc::new(found.hit, 0)));
            let copies = copies.into_iter().map(|found| RankedDoc::new(found.hit, 0));
            best.extend(copies.map(|found| RankedDoc { copy: true, ..found }));
        }
        self.chosen(query, best, k)
    }

    /// Adds to each candidate the best of its scores for a part of the query. Whole and parts are
    /// levelled before, so that they count alike.
    fn add_parts(
        self,
        query: &Query<'_>,
        fused: &mut [i64],
        docs: &[DocId],
        scores: &QueryScores,
        near: &Similarity<'_>,
    ) {
        let mut best = vec![i64::MIN; docs.len()];
        for (at, (part, accumulator)) in (1..).zip(query.parts.iter().zip(&scores.parts)) {
            let words = docs.iter().map(|doc| accumulator.get(*doc));
            let pairs = pairs(words, near.of(at, docs));
            let mut scores = fusion::fuse(&pairs, self.meaning(&part.terms, &pairs));
            fusion::level(&mut scores);
            best.iter_mut().zip(scores).for_each(|(best, score)| *best = score.max(*best));
        }
        fusion::level(fused);
        fused.iter_mut().zip(best).for_each(|(score, best)| *score = score.saturating_add(best));
    }

    /// How much meaning counts beside words, by how much the best of these items has of them.
    fn meaning(self, terms: &QueryTerms, pairs: &[(u32, i64)]) -> i64 {
        let best = pairs.iter().map(|(words, _)| u64::from(*words)).max().unwrap_or(0);
        fusion::meaning(best, self.scorer.max_score_of(terms))
    }

    fn chosen(self, query: &Query<'_>, mut ranked: Vec<RankedDoc>, k: usize) -> Vec<RankedDoc> {
        if !query.parts.is_empty() {
            coverage::cover(self.scorer, self.index, &query.whole, &mut ranked);
        }
        ranked.truncate(k);
        ranked
    }

    /// At least `least` items that are no copies, or all of them where there are fewer.
    fn words(self, query: &Query<'_>, least: usize) -> LexicalRanking {
        // Copies of the first few may fill many documents, so it looks further than it has to.
        let mut depth = least + least.div_ceil(4);
        let scores = (!query.parts.is_empty()).then(|| self.scorer.scores(query));
        loop {
            let scored = match &scores {
                Some(scores) => scores.best(depth),
                None => self.scorer.best(&query.whole, depth),
            };
            let all = scored.len() < depth;
            let mut found: Vec<LexicalHit> =
                scored.into_iter().map(|hit| self.found(query, hit)).collect();
            self.cut(&mut found, depth);
            let (first, copies) = self.apart(found);
            if first.len() >= least || all {
                return LexicalRanking { first, copies, scores };
            }
            depth *= 4;
        }
    }

    /// The best by words of what is known to share any with the query, and the nearest by meaning
    /// of all other visible items; what is left; and copies.
    fn with_nearest(
        self,
        query: &Query<'_>,
        known: &[LexicalHit],
        near: &Similarity<'_>,
        counts: CandidateCounts,
    ) -> (Vec<LexicalHit>, Vec<LexicalHit>, Vec<LexicalHit>) {
        let scores: KeyMap<u32> =
            known.iter().map(|found| (u64::from(found.hit.0), found.hit.1)).collect();
        let words = |doc: DocId| scores.get(&u64::from(doc)).copied().unwrap_or(0);
        let all = self.scorer.visible().map(|doc| self.found(query, (doc, words(doc)))).collect();
        let (mut first, copies) = self.apart(all);
        let mut rest = self.cut(&mut first, counts.by_words);
        if rest.len() > counts.by_meaning {
            let docs: Vec<DocId> = rest.iter().map(|found| found.hit.0).collect();
            let near = near.of(0, &docs).into_iter().chain(std::iter::repeat(0));
            let mut nearest: Vec<(i64, LexicalHit)> = near.zip(rest).collect();
            nearest.select_nth_unstable_by(counts.by_meaning, |a, b| {
                b.0.cmp(&a.0).then_with(|| self.compare(&a.1, &b.1))
            });
            let left = nearest.split_off(counts.by_meaning);
            rest = left.into_iter().map(|(_, found)| found).collect();
            first.extend(nearest.into_iter().map(|(_, found)| found));
        } else {
            first.append(&mut rest);
        }
        (first, rest, copies)
    }

    fn found(self, query: &Query<'_>, hit: ScoredDoc) -> LexicalHit {
        let mark = self.index.mark(hit.0);
        let own_text = mark.is_some_and(|mark| mark.sequence == query.sequence);
        let length = mark.map_or(0, |mark| mark.length);
        let gist = mark.and_then(|mark| self.index.shared_gist(mark));
        let order = if own_text { 0 } else { u64::from(!hit.1) << 32 | u64::from(length) };
        LexicalHit { order, hit, gist, own_text }
    }

    /// What stands first among its near copies, and the copies.
    fn apart(self, mut found: Vec<LexicalHit>) -> (Vec<LexicalHit>, Vec<LexicalHit>) {
        let mut first: Vec<LexicalHit> = Vec::with_capacity(found.len());
        found.retain(|found| {
            found.gist.is_some() || {
                first.push(*found);
                false
            }
        });
        found.sort_unstable_by(|a, b| a.gist.cmp(&b.gist).then_with(|| self.compare(a, b)));
        let mut before = None;
        let (best, copies): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| {
            let copy = found.gist == before && !found.own_text;
            before = found.gist;
            !copy
        });
        first.extend(best);
        (first, copies)
    }

    /// Keeps the first `count`, in no particular order, and returns the others.
    fn cut(self, found: &mut Vec<LexicalHit>, count: usize) -> Vec<LexicalHit> {
        if count >= found.len() {
            return Vec::new();
        }
        found.select_nth_unstable_by(count, |a, b| self.compare(a, b));
        found.split_off(count)
    }

    /// The higher score, then the shorter name, then the lower id.
    fn sort(self, found: &mut [LexicalHit]) {
        found.sort_unstable_by(|a, b| self.compare(a, b));
    }

    fn compare(self, a: &LexicalHit, b: &LexicalHit) -> Ordering {
        a.order.cmp(&b.order).then_with(|| self.index.compare_ids(a.hit.0, b.hit.0))
    }

    /// The first so many by these scores, then as by words: the score of each, and where it stands.
    fn by_score(self, scores: Vec<u64>, found: &[LexicalHit], count: usize) -> Vec<(u64, usize)> {
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

/// How many are ranked before `k` of them are chosen.
fn wanted(query: &Query<'_>, k: usize) -> usize {
    if query.parts.is_empty() { k } else { k.max(coverage::POOL) }
}

/// The score of the words of each candidate, and how near it is.
fn pairs(words: impl Iterator<Item = u32>, near: Vec<i64>) -> Vec<(u32, i64)> {
    words.zip(near.into_iter().chain(std::iter::repeat(0))).collect()
}
