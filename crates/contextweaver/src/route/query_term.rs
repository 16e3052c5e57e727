//! The terms of a query as scorers over postings lists.
//!
//! A term adds the product of its weight in the query (its inverse document frequency) and its weight in
//! the document, which is precomputed by the index: an impact, in the terminology of Anh and Moffat
//! (2006). Of several synonyms only the best counts, and only if the word itself is missing, because
//! several forms of one concept are not several pieces of evidence.

use super::document;
use super::postings::{DocId, Posting, PostingsList};

/// The cost of a binary search in a postings list, in postings read sequentially.
pub(super) const LOOKUP_COST: usize = 16;

/// Receives scored documents, like a collector in tantivy and Lucene.
pub(super) trait Collector {
    /// Whether the score of this document matters.
    fn accepts(&self, doc: DocId) -> bool;

    /// Adds a score to a document, which need not be one that matters.
    fn collect(&mut self, doc: DocId, score: u32);
}

/// The best score of any synonym by document, while their lists are read. Empty before and after.
#[derive(Debug, Default)]
pub(super) struct SynonymAccumulator {
    /// The best score by document; zero if there is none.
    best: Vec<u32>,
    docs: Vec<DocId>,
}

impl SynonymAccumulator {
    /// Grows to a capacity of at least `items` documents.
    pub(super) fn ensure_capacity(&mut self, items: usize) {
        if self.best.len() < items {
            self.best.resize(items, 0);
        }
    }

    #[cfg(test)]
    pub(super) fn is_clear(&self) -> bool {
        self.docs.is_empty() && self.best.iter().all(|best| *best == 0)
    }

    #[inline]
    fn record(&mut self, doc: DocId, score: u32) {
        let Some(best) = self.best.get_mut(doc as usize) else { return };
        if *best == 0 {
            self.docs.push(doc);
        }
        *best = score.max(*best);
    }

    /// Passes on the score of each document that does not contain the word itself, and becomes empty.
    /// Depending on the sizes, it either looks up each document or reads the whole list.
    fn drain_into(&mut self, own: PostingsList<'_>, to: &mut impl Collector) {
        let best = &mut self.best;
        let mut out = |doc: DocId| best.get_mut(doc as usize).map_or(0, std::mem::take);
        let look_up = LOOKUP_COST * self.docs.len() < own.posting_count();
        if !look_up {
            own.postings().for_each(|posting| _ = out(posting.doc()));
        }
        for doc in self.docs.drain(..) {
            let score = out(doc);
            if score > 0 && !(look_up && own.weight_in(doc).is_some()) {
                to.collect(doc, score);
            }
        }
    }
}

/// A postings list with the weight of its term in the query.
#[derive(Debug, Clone, Copy)]
pub(super) struct TermScorer<'a> {
    pub(super) postings: PostingsList<'a>,
    pub(super) weight: u64,
}

impl TermScorer<'_> {
    /// The score of a document, if it contains the term.
    pub(super) fn score(self, doc: DocId) -> Option<u32> {
        self.postings.weight_in(doc).map(|weight| impact(self.weight, weight))
    }

    /// Calls `take` with each document and its score, deleted documents included.
    #[inline]
    fn for_each(self, mut take: impl FnMut(DocId, u32)) {
        let mut take =
            |posting: &Posting| take(posting.doc(), impact(self.weight, posting.weight()));
        self.postings.base.postings.iter().for_each(&mut take);
        self.postings.added.iter().for_each(take);
    }

    fn max_score(self) -> u32 {
        impact(self.weight, self.postings.max_weight())
    }
}

/// One addend of the score of a document.
#[derive(Debug)]
pub(super) enum QueryTerm<'a> {
    /// A term: the documents of its list are scored by their weights.
    Term(TermScorer<'a>),
    /// Synonyms: documents without the word itself (`own`) are scored by the best of `others`.
    Synonyms { own: PostingsList<'a>, others: Vec<TermScorer<'a>> },
    /// Words that a request implies together: each of them counts.
    Sum(Vec<TermScorer<'a>>),
}

impl QueryTerm<'_> {
    /// An upper bound on the score of any document.
    pub(super) fn max_score(&self) -> u64 {
        u64::from(match self {
            Self::Term(term) => term.max_score(),
            Self::Synonyms { others, .. } => {
                others.iter().map(|other| other.max_score()).max().unwrap_or(0)
            }
            Self::Sum(terms) => return terms.iter().map(|term| u64::from(term.max_score())).sum(),
        })
    }

    /// The cost of reading it completely, in postings.
    pub(super) fn cost(&self) -> usize {
        match self {
            Self::Term(term) => term.postings.posting_count(),
            Self::Synonyms { own, others } => {
                let others = total_size(others);
                own.posting_count().min(LOOKUP_COST * others) + 2 * others
            }
            Self::Sum(terms) => total_size(terms),
        }
    }

    /// The number of lists in which one document is looked up.
    pub(super) fn list_count(&self) -> usize {
        match self {
            Self::Term(_) => 1,
            Self::Synonyms { others, .. } => 1 + others.len(),
            Self::Sum(terms) => terms.len(),
        }
    }

    /// The score of one document.
    pub(super) fn score(&self, doc: DocId) -> u32 {
        match self {
            Self::Term(term) => term.score(doc).unwrap_or(0),
            Self::Synonyms { own, others } => match own.weight_in(doc) {
                Some(_) => 0,
                None => others.iter().filter_map(|other| other.score(doc)).max().unwrap_or(0),
            },
            Self::Sum(terms) => {
                let scores = terms.iter().filter_map(|term| term.score(doc));
                scores.fold(0, u32::saturating_add)
            }
        }
    }

    /// Passes on the score of each document, deleted ones included.
    #[inline]
    pub(super) fn for_each(&self, synonyms: &mut SynonymAccumulator, to: &mut impl Collector) {
        match self {
            Self::Term(term) => term.for_each(|doc, score| to.collect(doc, score)),
            Self::Synonyms { own, others } => {
                for other in others {
                    other.for_each(|doc, score| {
                        if to.accepts(doc) {
                            synonyms.record(doc, score);
                        }
                    });
                }
                synonyms.drain_into(*own, to);
            }
            Self::Sum(terms) => {
                for term in terms {
                    term.for_each(|doc, score| to.collect(doc, score));
                }
            }
        }
    }
}

fn total_size(lists: &[TermScorer<'_>]) -> usize {
    lists.iter().map(|term| term.postings.posting_count()).sum()
}

/// The score of a term in a document; at least one unit, so that no match is lost to rounding.
#[inline]
pub(super) fn impact(term_weight: u64, weight: u64) -> u32 {
    u32::try_from(((term_weight * weight) >> document::WEIGHT_FRACTION_BITS).max(1))
        .unwrap_or(u32::MAX)
}
