//! Finds the top-scoring documents for one query without scoring all of them.
//!
//! Term-at-a-time MaxScore (Turtle and Flood 1995, "Query evaluation: strategies and
//! optimizations"): each list has an upper bound on what it can add. Once `count` documents have more
//! than all remaining lists together can add, no new document can be among the best, and a known one
//! is dropped as soon as the remaining lists cannot lift it above the threshold. Documents are a few
//! words long and queries have many rare terms, so processing term by term with one array of scores
//! beats processing document by document with cursors, as WAND does.

use super::postings::{DocId, ScoredDoc};
use super::query_term::{Collector, LOOKUP_COST, QueryTerm, SynonymAccumulator};
use super::selection::Selection;

/// Partial scores, and the documents that can still be among the best. Empty before and after.
#[derive(Debug, Default)]
pub(super) struct TopKCollector {
    /// The partial score by document; zero if there is none.
    scores: Vec<u32>,
    /// The documents that have a score and can still be among the best.
    docs: Vec<DocId>,
    /// Those of them whose score reaches the threshold.
    top: Vec<DocId>,
    synonyms: SynonymAccumulator,
    sorted: Vec<u32>,
}

impl TopKCollector {
    /// Grows to a capacity of at least `items` documents.
    pub(super) fn ensure_capacity(&mut self, items: usize) {
        if self.scores.len() < items {
            self.scores.resize(items, 0);
            self.synonyms.ensure_capacity(items);
        }
    }

    /// The accumulator that [`QueryTerm::for_each`] needs.
    pub(super) fn synonyms(&mut self) -> &mut SynonymAccumulator {
        &mut self.synonyms
    }

    /// The visible documents with the `count` highest sums, including ties with the last; in no
    /// particular order.
    ///
    /// Cheap terms are read first. As soon as `count` documents have more than all remaining terms can
    /// add, new documents are ignored, and a known one is dropped when the remaining terms cannot lift
    /// it to the threshold. Scores are never negative, so no document is lost.
    pub(super) fn best(
        &mut self,
        mut sources: Vec<QueryTerm<'_>>,
        selection: &Selection,
        count: usize,
    ) -> Vec<ScoredDoc> {
        sources.sort_by_cached_key(QueryTerm::cost);
        let mut remaining_bound: u64 = sources.iter().map(QueryTerm::max_score).sum();
        let (mut read_bound, mut threshold, mut accepts_new) = (0, 1, count > 0);
        for source in &sources {
            // No document can have more than the bound of the terms read so far. Raising the
            // threshold costs time proportional to `top`, so it is not done for a cheaper term.
            if read_bound > remaining_bound && source.cost() >= self.top.len() {
                threshold = self.raise_threshold(count, threshold);
            }
            accepts_new = accepts_new && remaining_bound >= threshold.into();
            if accepts_new {
                self.add(source, selection, threshold);
            } else {
                self.add_to_known(source, remaining_bound, threshold);
            }
            let most = source.max_score();
            (read_bound, remaining_bound) =
                (read_bound + most, remaining_bound.saturating_sub(most));
        }
        self.raise_threshold(count, threshold);
        let score = |doc: DocId| (doc, self.scores.get(doc as usize).copied().unwrap_or(0));
        let best = self.top.drain(..).map(score).collect();
        for doc in self.docs.drain(..) {
            if let Some(score) = self.scores.get_mut(doc as usize) {
                *score = 0;
            }
        }
        best
    }

    /// The score that at least `count` documents have, never lower than before. Keeps in `top` only
    /// documents that reach it.
    fn raise_threshold(&mut self, count: usize, threshold: u32) -> u32 {
        let Some(last) = count.checked_sub(1).filter(|last| *last < self.top.len()) else {
            return threshold;
        };
        let score = |doc: &DocId| self.scores.get(*doc as usize).copied().unwrap_or(0);
        self.sorted.clear();
        self.sorted.extend(self.top.iter().map(score));
        let threshold = *self.sorted.select_nth_unstable_by(last, |a, b| b.cmp(a)).1;
        self.top.retain(|doc| score(doc) >= threshold);
        threshold
    }

    fn drop_below(&mut self, threshold: u64) {
        let scores = &mut self.scores;
        self.docs.retain(|doc| {
            let Some(score) = scores.get_mut(*doc as usize) else { return false };
            let stays = u64::from(*score) >= threshold;
            if !stays {
                *score = 0;
            }
            stays
        });
    }

    fn add(&mut self, source: &QueryTerm<'_>, selection: &Selection, threshold: u32) {
        let Self { scores, docs, top, synonyms, .. } = self;
        let sums = PartialScores { scores, top, threshold };
        source.for_each(synonyms, &mut AllDocs { sums, docs, selection });
    }

    /// Adds scores only to known documents. Drops those that the remaining bound cannot lift to the
    /// threshold.
    fn add_to_known(&mut self, source: &QueryTerm<'_>, remaining_bound: u64, threshold: u32) {
        let size = source.cost();
        if self.docs.len() < size {
            self.drop_below(u64::from(threshold).saturating_sub(remaining_bound));
        }
        let Self { scores, docs, top, synonyms, .. } = self;
        let mut sums = PartialScores { scores, top, threshold };
        if docs.len() * LOOKUP_COST * source.list_count() < size {
            docs.iter().for_each(|doc| sums.add(*doc, source.score(*doc)));
        } else {
            source.for_each(synonyms, &mut ScoredDocs { sums });
        }
    }
}

/// The partial scores, and the documents that reach the threshold.
struct PartialScores<'a> {
    scores: &'a mut [u32],
    top: &'a mut Vec<DocId>,
    threshold: u32,
}

impl PartialScores<'_> {
    fn has(&self, doc: DocId) -> bool {
        self.scores.get(doc as usize).is_some_and(|sum| *sum > 0)
    }

    #[inline]
    fn add(&mut self, doc: DocId, score: u32) {
        let Some(sum) = self.scores.get_mut(doc as usize) else { return };
        let before = *sum;
        *sum = before.saturating_add(score);
        if before < self.threshold && *sum >= self.threshold {
            self.top.push(doc);
        }
    }
}

/// Collects every visible document.
struct AllDocs<'a> {
    sums: PartialScores<'a>,
    docs: &'a mut Vec<DocId>,
    selection: &'a Selection,
}

impl Collector for AllDocs<'_> {
    #[inline]
    fn accepts(&self, doc: DocId) -> bool {
        self.selection.contains(doc)
    }

    #[inline]
    fn collect(&mut self, doc: DocId, score: u32) {
        if !self.sums.has(doc) {
            if !self.accepts(doc) {
                return;
            }
            self.docs.push(doc);
        }
        self.sums.add(doc, score);
    }
}

/// Collects only documents that already have a score.
struct ScoredDocs<'a> {
    sums: PartialScores<'a>,
}

impl Collector for ScoredDocs<'_> {
    #[inline]
    fn accepts(&self, doc: DocId) -> bool {
        self.sums.has(doc)
    }

    #[inline]
    fn collect(&mut self, doc: DocId, score: u32) {
        if self.sums.has(doc) {
            self.sums.add(doc, score);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::postings::{Posting, PostingsList, SegmentPostings};
    use super::super::query_term::TermScorer;
    use super::super::selection::{DocBitSet, IndexVersion};
    use super::*;

    const ITEMS: u32 = 400;

    type Lists = Vec<(u64, BTreeMap<DocId, u16>, BTreeMap<DocId, u16>)>;

    /// Lists of a few items and of many, with what they are worth; some of their items came later.
    fn lists() -> impl Strategy<Value = Lists> {
        let weight = prop_oneof![1..200_u64, 1..400_000_u64];
        let items = |most| prop::collection::btree_map(0..ITEMS, 0..9_000_u16, 0..most);
        let list = prop_oneof![items(12), items(300)];
        prop::collection::vec((weight, list, items(3)), 0..9)
    }

    fn term_scorer((weight, base, added): &(u64, Vec<Posting>, Vec<Posting>)) -> TermScorer<'_> {
        TermScorer {
            weight: *weight,
            postings: PostingsList { base: SegmentPostings::of(base), added, deleted_count: 0 },
        }
    }

    fn postings(items: &BTreeMap<DocId, u16>, from: DocId) -> Vec<Posting> {
        items.iter().map(|(doc, weight)| Posting::new(from + doc, *weight)).collect()
    }

    /// The same by looking at every item.
    fn exhaustive(
        sources: &[QueryTerm<'_>],
        selection: &Selection,
        count: usize,
    ) -> Vec<ScoredDoc> {
        let score = |doc| sources.iter().map(|source| source.score(doc)).sum::<u32>();
        let visible = (0..2 * ITEMS).filter(|doc| selection.contains(*doc));
        let mut all: Vec<ScoredDoc> = visible.map(|doc| (doc, score(doc))).collect();
        all.retain(|(_, score)| *score > 0);
        all.sort_by_key(|(doc, score)| (std::cmp::Reverse(*score), *doc));
        let last = all.get(count.wrapping_sub(1)).map_or(0, |hit| hit.1);
        all.retain(|hit| count > 0 && hit.1 >= last);
        all
    }

    proptest! {
        #[test]
        fn what_is_not_looked_at_is_not_among_the_best(
            lists in lists(), instead in lists(), count in prop_oneof![0..8_usize, 0..500_usize],
            hidden in prop::option::of(prop::collection::vec(0..2 * ITEMS, 0..200)),
        ) {
            let lists: Vec<_> = lists.iter().chain(&instead).map(|(weight, base, added)| {
                (*weight, postings(base, 0), postings(added, ITEMS))
            }).collect();
            let (plain, others) = lists.split_at(lists.len() - instead.len());
            let sources = || {
                let mut sources: Vec<_> = plain.iter().map(|list| QueryTerm::Term(term_scorer(list))).collect();
                for three in others.chunks(3).filter(|three| three.len() > 1) {
                    let own = term_scorer(&three[0]).postings;
                    sources.push(QueryTerm::Synonyms { own, others: three[1..].iter().map(term_scorer).collect() });
                }
                sources
            };
            let selection = match &hidden {
                None => Selection::all(u64::from(2 * ITEMS), None, IndexVersion::default()),
                Some(hidden) => {
                    let seen = (0..2 * ITEMS).map(|doc| !hidden.contains(&doc));
                    Selection::from_docs(Arc::new(DocBitSet::from_bools(seen)), IndexVersion::default())
                }
            };
            let mut collector = TopKCollector::default();
            collector.ensure_capacity(2 * ITEMS as usize);
            for _ in 0..2 {
                let mut best = collector.best(sources(), &selection, count);
                best.sort_by_key(|(doc, score)| (std::cmp::Reverse(*score), *doc));
                prop_assert_eq!(best, exhaustive(&sources(), &selection, count));
            }
            prop_assert!(collector.scores.iter().all(|score| *score == 0) && collector.synonyms.is_clear());
        }
    }
}
