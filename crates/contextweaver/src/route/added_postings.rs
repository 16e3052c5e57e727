//! The postings of items that were added to an index after its base segment was built.

use super::document::Weight;
use super::postings::{DocId, Posting};
use super::term_key::TermKey;

/// Postings in order of term, then of document, as two parallel arrays. They are small and quick to
/// copy with one item added or removed.
#[derive(Debug, Clone, Default)]
pub(super) struct AddedPostings {
    keys: Vec<TermKey>,
    postings: Vec<Posting>,
}

impl AddedPostings {
    pub(super) fn get(&self, key: TermKey) -> &[Posting] {
        let from = self.keys.partition_point(|other| *other < key);
        let rest = self.keys.get(from..).unwrap_or_default();
        let to = from + rest.partition_point(|other| *other == key);
        self.postings.get(from..to).unwrap_or_default()
    }

    /// A copy with the terms of an item added. Its document id must be the highest so far.
    pub(super) fn with(&self, doc: DocId, terms: &[(TermKey, Weight)]) -> Self {
        debug_assert!(terms.is_sorted_by_key(|(key, _)| *key), "terms come in their order");
        let mut new = Self::with_capacity(self.keys.len() + terms.len());
        let mut from = 0;
        for (key, weight) in terms {
            let rest = self.keys.get(from..).unwrap_or_default();
            let to = from + rest.partition_point(|other| other <= key);
            new.copy(self, from..to);
            new.push(*key, Posting::new(doc, *weight));
            from = to;
        }
        new.copy(self, from..self.keys.len());
        new
    }

    /// A copy without the terms of an item.
    pub(super) fn without(&self, doc: DocId) -> Self {
        let mut new = Self::with_capacity(self.keys.len());
        let all = self.keys.iter().zip(&self.postings);
        for (key, posting) in all.filter(|(_, posting)| posting.doc() != doc) {
            new.push(*key, *posting);
        }
        new
    }

    fn with_capacity(size: usize) -> Self {
        Self { keys: Vec::with_capacity(size), postings: Vec::with_capacity(size) }
    }

    fn push(&mut self, key: TermKey, posting: Posting) {
        self.keys.push(key);
        self.postings.push(posting);
    }

    fn copy(&mut self, other: &Self, range: std::ops::Range<usize>) {
        self.keys.extend_from_slice(other.keys.get(range.clone()).unwrap_or_default());
        self.postings.extend_from_slice(other.postings.get(range).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(run: &[Posting]) -> Vec<(DocId, u64)> {
        run.iter().map(|posting| (posting.doc(), posting.weight())).collect()
    }

    #[test]
    fn items_come_and_go() {
        let one = AddedPostings::default().with(10, &[(3, 1), (7, 2)]);
        let two = one.with(11, &[(1, 3), (7, 4), (9, 5)]);
        assert_eq!(all(two.get(7)), [(10, 2), (11, 4)]);
        assert_eq!((all(two.get(1)), all(two.get(3))), (vec![(11, 3)], vec![(10, 1)]));
        assert!(two.get(8).is_empty());
        let less = two.without(10);
        assert_eq!((all(less.get(7)), all(less.get(3))), (vec![(11, 4)], vec![]));
        assert!(less.without(11).keys.is_empty());
    }
}
