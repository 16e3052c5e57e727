//! The items of an index that a request may see.

use std::sync::Arc;

use super::postings::{DocId, PostingsList};

/// A bit for each document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// Bits from these, in the order of documents.
    pub(super) fn of(bits: impl Iterator<Item = bool>) -> Self {
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

/// What tells one state of an index from every other.
#[derive(Debug, Clone, Default)]
pub(super) struct Stamp(Arc<u8>);

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Stamp {}

/// Which items may be seen, and how many they are. It holds for the router that made it; to any
/// other it shows nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// `None`: every document.
    visible: Option<Arc<Bits>>,
    /// Whether it has every item of the index.
    is_all: bool,
    count: u64,
    stamp: Stamp,
}

impl Selection {
    /// Every item of an index: every document, or those where one is left.
    pub(super) fn all(count: u64, live: Option<Arc<Bits>>, stamp: Stamp) -> Self {
        Self { visible: live, is_all: true, count, stamp }
    }

    pub(super) fn of(visible: Arc<Bits>, stamp: Stamp) -> Self {
        let count = visible.count();
        Self { visible: Some(visible), is_all: false, count, stamp }
    }

    /// How many items may be seen.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether it was made for this state of an index.
    pub(super) fn is_for(&self, stamp: &Stamp) -> bool {
        self.stamp == *stamp
    }

    pub(super) fn is_all(&self) -> bool {
        self.is_all
    }

    pub(super) fn sees(&self, doc: DocId) -> bool {
        self.visible.as_ref().is_none_or(|visible| visible.get(doc))
    }

    /// How many of these items may be seen.
    pub(super) fn seen(&self, list: PostingsList<'_>) -> u64 {
        if self.is_all {
            return list.len() as u64;
        }
        list.postings().filter(|posting| self.sees(posting.doc())).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_set_and_cleared() {
        let mut bits = Bits::of([true, false, true].into_iter());
        bits.set(200);
        bits.clear(0);
        bits.clear(9_999);
        let set: Vec<_> = (0..300).filter(|doc| bits.get(*doc)).collect();
        assert_eq!((set, bits.count()), (vec![2, 200], 2));
    }

    #[test]
    fn a_selection_belongs_to_one_state() {
        let (one, other) = (Stamp::default(), Stamp::default());
        let selection = Selection::all(3, None, one.clone());
        assert!(selection.is_for(&one) && !selection.is_for(&other));
    }
}
