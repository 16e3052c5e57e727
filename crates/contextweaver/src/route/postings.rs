//! Lists of the items that hold a term, all lists in one array.

use super::document::Weight;
use super::hashing::KeyMap;
use super::key::Key;
use super::slots::Slots;

/// The index of an item: those of the base in the order of their ids, later ones behind them.
pub(super) type DocId = u32;

/// An item and its score, in units of 1/65,536.
pub(super) type ScoredDoc = (DocId, u32);

/// Keys that begin alike, on average.
const KEYS_OF_SLOT: usize = 4;
/// Bits of a weight in a posting.
const WEIGHT_BITS: u32 = 14;
/// Low bits that are dropped where the largest weight of a list is kept, rounded up.
const STEP_BITS: u32 = WEIGHT_BITS - 7;
/// Most documents that an index can have: those of a full catalog, and of many changes.
pub(super) const MAX_DOCS: usize = 1 << (32 - WEIGHT_BITS);

/// An item that holds a term, and what the term weighs there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Posting(u32);

impl Posting {
    pub(super) fn new(doc: DocId, weight: Weight) -> Self {
        Self(doc << WEIGHT_BITS | u32::from(weight).min((1 << WEIGHT_BITS) - 1))
    }

    pub(super) fn doc(self) -> DocId {
        self.0 >> WEIGHT_BITS
    }

    /// As [`Weight`] has it.
    pub(super) fn weight(self) -> u64 {
        u64::from(self.0 & ((1 << WEIGHT_BITS) - 1))
    }
}

/// The items that hold one term and what it weighs there, in the order of documents: those of the
/// base, then those that were added since.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PostingsList<'a> {
    pub(super) base: SegmentPostings<'a>,
    pub(super) added: &'a [Posting],
    /// How many of those of the base were taken away since.
    pub(super) gone: usize,
}

/// The items of the base that hold a term.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SegmentPostings<'a> {
    pub(super) postings: &'a [Posting],
    /// What it weighs at the most in any of them, or a little more.
    top: u64,
}

impl<'a> PostingsList<'a> {
    /// How many there are, without those that were taken away.
    pub(super) fn len(self) -> usize {
        self.size().saturating_sub(self.gone)
    }

    /// How many there are, with those that were taken away.
    pub(super) fn size(self) -> usize {
        self.base.postings.len() + self.added.len()
    }

    pub(super) fn is_empty(self) -> bool {
        self.size() == 0
    }

    /// No weight in it is above this.
    pub(super) fn max_weight(self) -> u64 {
        self.added.iter().map(|posting| posting.weight()).fold(self.base.top, u64::max)
    }

    /// All of them, with those that were taken away.
    pub(super) fn postings(self) -> impl Iterator<Item = Posting> + 'a {
        self.base.postings.iter().chain(self.added).copied()
    }

    /// What the term weighs with this id.
    pub(super) fn at(self, doc: DocId) -> Option<u64> {
        at(self.base.postings, doc).or_else(|| at(self.added, doc))
    }
}

fn at(run: &[Posting], doc: DocId) -> Option<u64> {
    let found = run.binary_search_by_key(&doc, |posting| posting.doc()).ok()?;
    run.get(found).map(|posting| posting.weight())
}

#[cfg(test)]
impl<'a> SegmentPostings<'a> {
    pub(super) fn of(postings: &'a [Posting]) -> Self {
        Self { postings, top: u64::from(top(postings)) << STEP_BITS }
    }
}

/// Where the list of a term begins; it ends where the next one begins.
#[derive(Debug, Clone, Copy)]
struct TermEntry {
    key: Key,
    from: u32,
    /// What the term weighs at the most, in steps.
    top: u8,
}

/// Lists by term, in the order of the terms' keys.
#[derive(Debug, Default)]
pub(super) struct Postings {
    /// One more than there are terms, for the end of the last list.
    heads: Vec<TermEntry>,
    slots: Slots,
    postings: Vec<Posting>,
}

impl Postings {
    /// The list of a term; empty for one that nothing holds.
    pub(super) fn run(&self, key: Key) -> SegmentPostings<'_> {
        let around = self.slots.around(key);
        let run = || {
            // With the one behind them, where the last list ends.
            let few = self.heads.get(around.start..=around.end)?;
            let at = few.get(..around.len())?.partition_point(|head| head.key < key);
            let (head, next) = (few.get(at)?, few.get(at + 1)?);
            let postings = self.postings.get(head.from as usize..next.from as usize)?;
            (head.key == key)
                .then(|| SegmentPostings { postings, top: u64::from(head.top) << STEP_BITS })
        };
        run().unwrap_or_default()
    }

    /// The bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.heads.as_slice())
            + self.slots.bytes()
            + size_of_val(self.postings.as_slice())
    }
}

/// Builds [`Postings`], item after item in ascending order.
#[derive(Debug, Default)]
pub(super) struct PostingsBuilder {
    terms: KeyMap<u32>,
    /// How often each term was met.
    counts: Vec<u32>,
    met: Vec<(u32, Posting)>,
}

impl PostingsBuilder {
    /// Notes one term of an item. Places come in ascending order.
    pub(super) fn note(&mut self, key: Key, doc: DocId, weight: Weight) {
        let next = u32::try_from(self.counts.len()).unwrap_or(u32::MAX);
        let term = *self.terms.entry(key).or_insert(next);
        if term == next {
            self.counts.push(0);
        }
        if let Some(count) = self.counts.get_mut(term as usize) {
            *count += 1;
            self.met.push((term, Posting::new(doc, weight)));
        }
    }

    /// The lists, each in the order in which its items came.
    pub(super) fn finish(self) -> Postings {
        let mut terms: Vec<(Key, u32)> = self.terms.into_iter().collect();
        terms.sort_unstable();
        let mut heads = Vec::with_capacity(terms.len() + 1);
        let mut next = vec![0; terms.len()];
        let mut from = 0_u32;
        for (key, term) in terms {
            heads.push(TermEntry { key, from, top: 0 });
            if let Some(next) = next.get_mut(term as usize) {
                *next = from;
            }
            from = from.saturating_add(self.counts.get(term as usize).copied().unwrap_or(0));
        }
        let slots = Slots::of(heads.iter().map(|head| head.key), KEYS_OF_SLOT);
        heads.push(TermEntry { key: Key::MAX, from, top: 0 });
        let mut postings = vec![Posting(0); self.met.len()];
        for (term, posting) in self.met {
            let Some(at) = next.get_mut(term as usize) else { continue };
            if let Some(slot) = postings.get_mut(*at as usize) {
                *slot = posting;
            }
            *at += 1;
        }
        let mut to = postings.len();
        for head in heads.iter_mut().rev() {
            let from = head.from as usize;
            head.top = top(postings.get(from..to).unwrap_or_default());
            to = from;
        }
        Postings { heads, slots, postings }
    }
}

/// The greatest weight of a list in steps, rounded up.
fn top(list: &[Posting]) -> u8 {
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
    fn lists_hold_what_was_noted() {
        let mut builder = PostingsBuilder::default();
        for (doc, key, weight) in [(0, 7, 1), (0, 9, 2), (1, 7, 3), (4, 9, 4), (4, 7, 5)] {
            builder.note(key, doc, weight);
        }
        let postings = builder.finish();
        assert_eq!(all(postings.run(7)), [(0, 1), (1, 3), (4, 5)]);
        assert_eq!(all(postings.run(9)), [(0, 2), (4, 4)]);
        assert!(postings.run(8).postings.is_empty());
        let list = PostingsList { base: postings.run(7), added: &[Posting::new(9, 6)], gone: 1 };
        assert_eq!((list.at(4), list.at(2), list.at(9), list.len()), (Some(5), None, Some(6), 3));
        assert!(PostingsBuilder::default().finish().run(7).postings.is_empty());
    }

    #[test]
    fn the_last_place_and_the_greatest_weight_fit() {
        let posting = Posting::new(u32::try_from(MAX_DOCS).unwrap() - 1, Weight::MAX);
        assert_eq!((posting.doc() as usize, posting.weight()), (MAX_DOCS - 1, 16_383));
    }

    proptest! {
        #[test]
        fn a_list_is_that_of_a_plain_map(
            noted in prop::collection::vec((prop_oneof![0_u64..20, any::<u64>()], 0_u16..9_000), 0..200),
        ) {
            let (mut builder, mut plain) = (PostingsBuilder::default(), BTreeMap::new());
            for (doc, (key, weight)) in (0..).zip(&noted) {
                builder.note(*key, doc, *weight);
                let list: &mut Vec<_> = plain.entry(*key).or_default();
                list.push((doc, u64::from(*weight)));
            }
            let postings = builder.finish();
            for (key, list) in &plain {
                prop_assert_eq!(&all(postings.run(*key)), list);
                let most = list.iter().map(|(_, weight)| *weight).max().unwrap();
                prop_assert!((most..most + 128).contains(&postings.run(*key).top));
            }
            for key in [0, 21, u64::MAX, u64::MAX / 2] {
                prop_assert_eq!(postings.run(key).postings.is_empty(), !plain.contains_key(&key));
            }
        }
    }
}
