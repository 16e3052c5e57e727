//! The terms of a query as scorers over postings lists.
//!
//! A term brings a document the product of its weight in the query (how rare it is) and its weight
//! in the document, which was worked out when the index was built: an impact, in the words of Anh
//! and Moffat (2006). Synonyms count by the best of them, and only where the word itself is
//! missing, as several forms of one concept are not several pieces of evidence.

use super::document;
use super::postings::{DocId, Posting, PostingsList};

/// A binary search in a postings list costs as much as reading this number of postings.
pub(super) const LOOKUP_COST: usize = 16;

/// Receives scored documents, as a collector does in tantivy and Lucene.
pub(super) trait Collector {
    /// Whether the score of this document matters.
    fn accepts(&self, doc: DocId) -> bool;

    /// Adds a score to a document; it may be one that does not matter.
    fn collect(&mut self, doc: DocId, score: u32);
}

/// The best score of any synonym, by document, while their lists are read. It is empty before and
/// after.
#[derive(Debug, Default)]
pub(super) struct SynonymAccumulator {
    /// By document; zero where there is none.
    most: Vec<u32>,
    docs: Vec<DocId>,
}

impl SynonymAccumulator {
    /// The least capacity, in documents.
    pub(super) fn fit(&mut self, items: usize) {
        if self.most.len() < items {
            self.most.resize(items, 0);
        }
    }

    #[cfg(test)]
    pub(super) fn is_clear(&self) -> bool {
        self.docs.is_empty() && self.most.iter().all(|most| *most == 0)
    }

    #[inline]
    fn raise(&mut self, doc: DocId, score: u32) {
        let Some(most) = self.most.get_mut(doc as usize) else { return };
        if *most == 0 {
            self.docs.push(doc);
        }
        *most = score.max(*most);
    }

    /// Passes on the score of each document that is not in this list, and empties itself.
    fn drain_into(&mut self, own: PostingsList<'_>, to: &mut impl Collector) {
        let most = &mut self.most;
        let mut out = |doc: DocId| most.get_mut(doc as usize).map_or(0, std::mem::take);
        let look_up = LOOKUP_COST * self.docs.len() < own.size();
        if !look_up {
            own.postings().for_each(|posting| _ = out(posting.doc()));
        }
        for doc in self.docs.drain(..) {
            let score = out(doc);
            if score > 0 && !(look_up && own.at(doc).is_some()) {
                to.collect(doc, score);
            }
        }
    }
}

/// A postings list, and the weight of its term in the query.
#[derive(Debug, Clone, Copy)]
pub(super) struct TermScorer<'a> {
    pub(super) postings: PostingsList<'a>,
    pub(super) weight: u64,
}

impl TermScorer<'_> {
    /// The score of a document, where it has the term.
    pub(super) fn at(self, doc: DocId) -> Option<u32> {
        self.postings.at(doc).map(|weight| impact(self.weight, weight))
    }

    /// Calls with each item of the list and what it gains, those that were taken away among them.
    #[inline]
    fn each(self, mut take: impl FnMut(DocId, u32)) {
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
    /// A term: the documents of its list score by their weights.
    Term(TermScorer<'a>),
    /// Synonyms: documents without the word itself score by the best of these.
    Synonyms { own: PostingsList<'a>, others: Vec<TermScorer<'a>> },
}

impl QueryTerm<'_> {
    /// An upper bound of the score of any document.
    pub(super) fn max_score(&self) -> u64 {
        u64::from(match self {
            Self::Term(term) => term.max_score(),
            Self::Synonyms { others, .. } => {
                others.iter().map(|other| other.max_score()).max().unwrap_or(0)
            }
        })
    }

    /// How many postings are read for all of it.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Term(term) => term.postings.size(),
            Self::Synonyms { own, others } => {
                let others = size(others);
                own.size().min(LOOKUP_COST * others) + 2 * others
            }
        }
    }

    /// In how many lists an item is looked up.
    pub(super) fn lists(&self) -> usize {
        match self {
            Self::Term(_) => 1,
            Self::Synonyms { others, .. } => 1 + others.len(),
        }
    }

    /// The score of one document.
    pub(super) fn at(&self, doc: DocId) -> u32 {
        match self {
            Self::Term(term) => term.at(doc).unwrap_or(0),
            Self::Synonyms { own, others } => match own.at(doc) {
                Some(_) => 0,
                None => others.iter().filter_map(|other| other.at(doc)).max().unwrap_or(0),
            },
        }
    }

    /// Passes on the score of each document, deleted ones among them.
    #[inline]
    pub(super) fn each(&self, synonyms: &mut SynonymAccumulator, to: &mut impl Collector) {
        match self {
            Self::Term(term) => term.each(|doc, score| to.collect(doc, score)),
            Self::Synonyms { own, others } => {
                for other in others {
                    other.each(|doc, score| {
                        if to.accepts(doc) {
                            synonyms.raise(doc, score);
                        }
                    });
                }
                synonyms.drain_into(*own, to);
            }
        }
    }
}

fn size(lists: &[TermScorer<'_>]) -> usize {
    lists.iter().map(|term| term.postings.size()).sum()
}

/// The score of a term in a document; at least one unit, so that what matches is never lost to rounding.
#[inline]
pub(super) fn impact(term_weight: u64, weight: u64) -> u32 {
    u32::try_from(((term_weight * weight) >> document::DIGITS).max(1)).unwrap_or(u32::MAX)
}
