//! Selections: the items of an index that are visible to a request.

use std::sync::Arc;

use super::postings::{DocId, PostingsList};

/// A bit set of documents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DocBitSet(Vec<u64>);

impl DocBitSet {
    /// A bit set from booleans in order of document.
    pub(super) fn from_bools(bits: impl Iterator<Item = bool>) -> Self {
        let mut this = Self::default();
        for (doc, bit) in (0..).zip(bits) {
            if bit {
                this.set(doc);
            }
        }
        this
    }

    pub(super) fn get(&self, doc: DocId) -> bool {
        self.0.get(doc as usize / 64).is_some_and(|word| word >> (doc % 64) & 1 == 1)
    }

    pub(super) fn set(&mut self, doc: DocId) {
        let word = doc as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if let Some(word) = self.0.get_mut(word) {
            *word |= 1 << (doc % 64);
        }
    }

    pub(super) fn clear(&mut self, doc: DocId) {
        if let Some(word) = self.0.get_mut(doc as usize / 64) {
            *word &= !(1 << (doc % 64));
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// The identity of one state of an index.
#[derive(Debug, Clone, Default)]
pub(super) struct IndexVersion(Arc<u8>);

impl PartialEq for IndexVersion {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for IndexVersion {}

/// A set of visible items. It is valid only for the router that made it; for any other router it is
/// empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// `None`: every document.
    visible: Option<Arc<DocBitSet>>,
    /// Whether it contains every item of the index.
    is_all: bool,
    count: u64,
    version: IndexVersion,
}

impl Selection {
    /// Every item of an index: all documents, or all live ones.
    pub(super) fn all(count: u64, live: Option<Arc<DocBitSet>>, version: IndexVersion) -> Self {
        Self { visible: live, is_all: true, count, version }
    }

    pub(super) fn from_docs(visible: Arc<DocBitSet>, version: IndexVersion) -> Self {
        let count = visible.count();
        Self { visible: Some(visible), is_all: false, count, version }
    }

    /// The number of visible items.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether it was made for this state of the index.
    pub(super) fn is_for(&self, version: &IndexVersion) -> bool {
        self.version == *version
    }

    pub(super) fn is_all(&self) -> bool {
        self.is_all
    }

    pub(super) fn contains(&self, doc: DocId) -> bool {
        self.visible.as_ref().is_none_or(|visible| visible.get(doc))
    }

    /// The document frequency of a term among the visible items.
    pub(super) fn count_visible(&self, list: PostingsList<'_>) -> u64 {
        if self.is_all {
            return list.doc_frequency() as u64;
        }
        list.postings().filter(|posting| self.contains(posting.doc())).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_set_and_cleared() {
        let mut bits = DocBitSet::from_bools([true, false, true].into_iter());
        bits.set(200);
        bits.clear(0);
        bits.clear(9_999);
        let set: Vec<_> = (0..300).filter(|doc| bits.get(*doc)).collect();
        assert_eq!((set, bits.count()), (vec![2, 200], 2));
    }

    #[test]
    fn a_selection_belongs_to_one_state() {
        let (one, other) = (IndexVersion::default(), IndexVersion::default());
        let selection = Selection::all(3, None, one.clone());
        assert!(selection.is_for(&one) && !selection.is_for(&other));
    }
}
