//! Postings: for each term the documents that contain it, all lists in one array.

use super::document::Weight;
use super::hashing::KeyMap;
use super::slot_index::SlotIndex;
use super::term_key::TermKey;

/// The number of a document: first those of the base segment in order of item id, then later ones.
pub(super) type DocId = u32;

/// A document and its score, in units of 1/65,536.
pub(super) type ScoredDoc = (DocId, u32);

/// The average number of keys per slot of the lookup table.
const KEYS_PER_SLOT: usize = 4;
/// Bits of a weight in a posting.
const WEIGHT_BITS: u32 = 14;
/// The low bits that are dropped, rounding up, from the maximum weight of a list.
const STEP_BITS: u32 = WEIGHT_BITS - 7;
/// The most documents of an index: enough for a full catalog and many changes.
pub(super) const MAX_DOCS: usize = 1 << (32 - WEIGHT_BITS);

/// A document that contains a term, and the weight of the term in it, packed into 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Posting(u32);

impl Posting {
    pub(super) fn new(doc: DocId, weight: Weight) -> Self {
        Self(doc << WEIGHT_BITS | u32::from(weight).min((1 << WEIGHT_BITS) - 1))
    }

    pub(super) fn doc(self) -> DocId {
        self.0 >> WEIGHT_BITS
    }

    /// The weight, in the units of [`Weight`].
    pub(super) fn weight(self) -> u64 {
        u64::from(self.0 & ((1 << WEIGHT_BITS) - 1))
    }
}

/// The postings of one term in order of document: those of the base segment, then those that were
/// added since.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PostingsList<'a> {
    pub(super) base: SegmentPostings<'a>,
    pub(super) added: &'a [Posting],
    /// How many postings of the base segment belong to deleted documents.
    pub(super) deleted_count: usize,
}

/// The postings of one term in the base segment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SegmentPostings<'a> {
    pub(super) postings: &'a [Posting],
    /// An upper bound on the weights, close to the maximum.
    max_weight: u64,
}

impl<'a> PostingsList<'a> {
    /// The document frequency: the number of postings without deleted documents.
    pub(super) fn doc_frequency(self) -> usize {
        self.posting_count().saturating_sub(self.deleted_count)
    }

    /// The number of postings, deleted documents included.
    pub(super) fn posting_count(self) -> usize {
        self.base.postings.len() + self.added.len()
    }

    pub(super) fn has_no_postings(self) -> bool {
        self.posting_count() == 0
    }

    /// An upper bound on the weights.
    pub(super) fn max_weight(self) -> u64 {
        self.added.iter().map(|posting| posting.weight()).fold(self.base.max_weight, u64::max)
    }

    /// All postings, deleted documents included.
    pub(super) fn postings(self) -> impl Iterator<Item = Posting> + 'a {
        self.base.postings.iter().chain(self.added).copied()
    }

    /// The weight of the term in a document, if the document contains it.
    pub(super) fn weight_in(self, doc: DocId) -> Option<u64> {
        weight_in(self.base.postings, doc).or_else(|| weight_in(self.added, doc))
    }
}

fn weight_in(postings: &[Posting], doc: DocId) -> Option<u64> {
    let found = postings.binary_search_by_key(&doc, |posting| posting.doc()).ok()?;
    postings.get(found).map(|posting| posting.weight())
}

#[cfg(test)]
impl<'a> SegmentPostings<'a> {
    pub(super) fn of(postings: &'a [Posting]) -> Self {
        Self { postings, max_weight: u64::from(max_weight_steps(postings)) << STEP_BITS }
    }
}

/// A term with the start of its postings, which end where those of the next term start.
#[derive(Debug, Clone, Copy)]
struct TermEntry {
    key: TermKey,
    from: u32,
    /// The maximum weight in coarse steps, rounded up.
    max_weight: u8,
}

/// All postings lists, in order of term key.
#[derive(Debug, Default)]
pub(super) struct Postings {
    /// One entry per term, and a final one for the end of the last list.
    entries: Vec<TermEntry>,
    slots: SlotIndex,
    postings: Vec<Posting>,
}

impl Postings {
    /// The postings of a term; empty if no document contains it.
    pub(super) fn get(&self, key: TermKey) -> SegmentPostings<'_> {
        self.place(key).map(|place| self.at(place)).unwrap_or_default()
    }

    /// The place of a term's list; `None` if no document contains the term.
    pub(super) fn place(&self, key: TermKey) -> Option<u32> {
        let slot_range = self.slots.range_of(key);
        // Without the final entry, which ends the last list.
        let terms = self.entries.split_last()?.1;
        let from = slot_range.start;
        let at = terms.get(slot_range)?.partition_point(|entry| entry.key < key) + from;
        let is_here = terms.get(at).is_some_and(|entry| entry.key == key);
        u32::try_from(at).ok().filter(|_| is_here)
    }

    /// The list at a place that [`Postings::place`] gave.
    pub(super) fn at(&self, place: u32) -> SegmentPostings<'_> {
        let list = || {
            let (entry, next) =
                (self.entries.get(place as usize)?, self.entries.get(place as usize + 1)?);
            let postings = self.postings.get(entry.from as usize..next.from as usize)?;
            let max_weight = u64::from(entry.max_weight) << STEP_BITS;
            Some(SegmentPostings { postings, max_weight })
        };
        list().unwrap_or_default()
    }

    /// The bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.entries.as_slice())
            + self.slots.bytes()
            + size_of_val(self.postings.as_slice())
    }
}

/// Builds [`Postings`] from documents in ascending order.
#[derive(Debug, Default)]
pub(super) struct PostingsBuilder {
    terms: KeyMap<u32>,
    /// The number of postings of each term.
    counts: Vec<u32>,
    unsorted: Vec<(u32, Posting)>,
}

impl PostingsBuilder {
    /// Adds one term of a document. Documents have to come in ascending order.
    pub(super) fn add(&mut self, key: TermKey, doc: DocId, weight: Weight) {
        let next = u32::try_from(self.counts.len()).unwrap_or(u32::MAX);
        let term = *self.terms.entry(key).or_insert(next);
        if term == next {
            self.counts.push(0);
        }
        if let Some(count) = self.counts.get_mut(term as usize) {
            *count += 1;
            self.unsorted.push((term, Posting::new(doc, weight)));
        }
    }

    /// Builds the lists by a counting sort over the terms, which keeps the order of documents.
    pub(super) fn finish(self) -> Postings {
        let mut terms: Vec<(TermKey, u32)> = self.terms.into_iter().collect();
        terms.sort_unstable();
        let mut entries = Vec::with_capacity(terms.len() + 1);
        let mut next = vec![0; terms.len()];
        let mut from = 0_u32;
        for (key, term) in terms {
            entries.push(TermEntry { key, from, max_weight: 0 });
            if let Some(next) = next.get_mut(term as usize) {
                *next = from;
            }
            from = from.saturating_add(self.counts.get(term as usize).copied().unwrap_or(0));
        }
        let slots = SlotIndex::of(entries.iter().map(|entry| entry.key), KEYS_PER_SLOT);
        entries.push(TermEntry { key: TermKey::MAX, from, max_weight: 0 });
        let mut postings = vec![Posting(0); self.unsorted.len()];
        for (term, posting) in self.unsorted {
            let Some(at) = next.get_mut(term as usize) else { continue };
            if let Some(slot) = postings.get_mut(*at as usize) {
                *slot = posting;
            }
            *at += 1;
        }
        let mut to = postings.len();
        for entry in entries.iter_mut().rev() {
            let from = entry.from as usize;
            entry.max_weight = max_weight_steps(postings.get(from..to).unwrap_or_default());
            to = from;
        }
        Postings { entries, slots, postings }
    }
}

/// The maximum weight of a list in coarse steps, rounded up.
fn max_weight_steps(list: &[Posting]) -> u8 {
    let most = list.iter().map(|posting| posting.weight()).max().unwrap_or(0);
    u8::try_from(most.div_ceil(1 << STEP_BITS)).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use std::collections::BTreeMap;

    fn all(run: SegmentPostings<'_>) -> Vec<(DocId, u64)> {
        run.postings.iter().map(|posting| (posting.doc(), posting.weight())).collect()
    }

    #[test]
    fn lists_have_the_added_postings() {
        let mut builder = PostingsBuilder::default();
        for (doc, key, weight) in [(0, 7, 1), (0, 9, 2), (1, 7, 3), (4, 9, 4), (4, 7, 5)] {
            builder.add(key, doc, weight);
        }
        let postings = builder.finish();
        assert_eq!(all(postings.get(7)), [(0, 1), (1, 3), (4, 5)]);
        assert_eq!(all(postings.get(9)), [(0, 2), (4, 4)]);
        assert!(postings.get(8).postings.is_empty());
        let list =
            PostingsList { base: postings.get(7), added: &[Posting::new(9, 6)], deleted_count: 1 };
        assert_eq!(
            (list.weight_in(4), list.weight_in(2), list.weight_in(9), list.doc_frequency()),
            (Some(5), None, Some(6), 3)
        );
        assert!(PostingsBuilder::default().finish().get(7).postings.is_empty());
    }

    #[test]
    fn the_last_document_and_the_maximum_weight_fit() {
        let posting = Posting::new(u32::try_from(MAX_DOCS).unwrap() - 1, Weight::MAX);
        assert_eq!((posting.doc() as usize, posting.weight()), (MAX_DOCS - 1, 16_383));
    }

    proptest! {
        #[test]
        fn a_list_equals_that_of_a_plain_map(
            added_terms in prop::collection::vec((prop_oneof![0_u64..20, any::<u64>()], 0_u16..9_000), 0..200),
        ) {
            let (mut builder, mut plain) = (PostingsBuilder::default(), BTreeMap::new());
            for (doc, (key, weight)) in (0..).zip(&added_terms) {
                builder.add(*key, doc, *weight);
                let list: &mut Vec<_> = plain.entry(*key).or_default();
                list.push((doc, u64::from(*weight)));
            }
            let postings = builder.finish();
            for (key, list) in &plain {
                prop_assert_eq!(&all(postings.get(*key)), list);
                let most = list.iter().map(|(_, weight)| *weight).max().unwrap();
                prop_assert!((most..most + 128).contains(&postings.get(*key).max_weight));
            }
            for key in [0, 21, u64::MAX, u64::MAX / 2] {
                prop_assert_eq!(postings.get(key).postings.is_empty(), !plain.contains_key(&key));
            }
        }
    }
}
