//! Lists of the items that hold a term, all lists in one array.

use super::document::Weight;
use super::key::Key;
use super::seeded::KeyMap;

/// An item as its position: those of the base in the order of their ids, later ones behind them.
pub(super) type Place = u32;

/// An item and its score, in units of 1/65,536.
pub(super) type Scored = (Place, u32);

/// Bits of a weight in a posting.
const WEIGHT_BITS: u32 = 14;
/// Most places that an index can have: those of a full catalog, and of many changes.
pub(super) const MAX_PLACES: usize = 1 << (32 - WEIGHT_BITS);

/// An item that holds a term, and what the term weighs there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Posting(u32);

impl Posting {
    pub(super) fn new(place: Place, weight: Weight) -> Self {
        Self(place << WEIGHT_BITS | u32::from(weight).min((1 << WEIGHT_BITS) - 1))
    }

    pub(super) fn place(self) -> Place {
        self.0 >> WEIGHT_BITS
    }

    /// As [`Weight`] has it.
    pub(super) fn weight(self) -> u64 {
        u64::from(self.0 & ((1 << WEIGHT_BITS) - 1))
    }
}

/// The items that hold one term and what it weighs there, in the order of places: those of the
/// base, then those that were added since.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct List<'a> {
    pub(super) base: &'a [Posting],
    pub(super) added: &'a [Posting],
    /// How many of those of the base were taken away since.
    pub(super) gone: usize,
}

impl<'a> List<'a> {
    /// How many there are, without those that were taken away.
    pub(super) fn len(self) -> usize {
        (self.base.len() + self.added.len()).saturating_sub(self.gone)
    }

    pub(super) fn is_empty(self) -> bool {
        self.base.is_empty() && self.added.is_empty()
    }

    /// All of them, with those that were taken away.
    pub(super) fn postings(self) -> impl Iterator<Item = Posting> + 'a {
        self.base.iter().chain(self.added).copied()
    }

    /// What the term weighs at this place.
    pub(super) fn at(self, place: Place) -> Option<u64> {
        at(self.base, place).or_else(|| at(self.added, place))
    }
}

fn at(run: &[Posting], place: Place) -> Option<u64> {
    let found = run.binary_search_by_key(&place, |posting| posting.place()).ok()?;
    run.get(found).map(|posting| posting.weight())
}

/// Lists by term, in the order of the terms' keys.
#[derive(Debug, Default)]
pub(super) struct Postings {
    keys: Vec<Key>,
    /// Where the keys begin that have the same first bits: a key is found by reading a few.
    firsts: Vec<u32>,
    /// Where the list of each term begins; one more than there are terms.
    starts: Vec<u32>,
    postings: Vec<Posting>,
}

impl Postings {
    /// The list of a term; empty for one that nothing holds.
    pub(super) fn run(&self, key: Key) -> &[Posting] {
        let bounds = || {
            let term = self.term(key)?;
            let from = *self.starts.get(term)? as usize;
            self.postings.get(from..*self.starts.get(term + 1)? as usize)
        };
        bounds().unwrap_or_default()
    }

    fn term(&self, key: Key) -> Option<usize> {
        let slot = self.slot(key);
        let from = *self.firsts.get(slot)? as usize;
        let few = self.keys.get(from..*self.firsts.get(slot + 1)? as usize)?;
        Some(from + few.binary_search(&key).ok()?)
    }

    /// By the first bits of a key; the number of slots is a power of two.
    fn slot(&self, key: Key) -> usize {
        slot(key, self.firsts.len().saturating_sub(1))
    }

    /// The bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.keys.as_slice())
            + size_of_val(self.firsts.as_slice())
            + size_of_val(self.starts.as_slice())
            + size_of_val(self.postings.as_slice())
    }
}

fn slot(key: Key, slots: usize) -> usize {
    let product = u128::from(key) * slots as u128;
    usize::try_from(product >> 64).unwrap_or(usize::MAX)
}

/// Collects what stands where, item after item.
#[derive(Debug, Default)]
pub(super) struct Collector {
    terms: KeyMap<u32>,
    /// How often each term was met.
    counts: Vec<u32>,
    met: Vec<(u32, Posting)>,
}

impl Collector {
    /// Notes one term of an item. Places come in ascending order.
    pub(super) fn note(&mut self, key: Key, place: Place, weight: Weight) {
        let next = u32::try_from(self.counts.len()).unwrap_or(u32::MAX);
        let term = *self.terms.entry(key).or_insert(next);
        if term == next {
            self.counts.push(0);
        }
        if let Some(count) = self.counts.get_mut(term as usize) {
            *count += 1;
            self.met.push((term, Posting::new(place, weight)));
        }
    }

    /// The lists, each in the order in which its items came.
    pub(super) fn finish(self) -> Postings {
        let mut terms: Vec<(Key, u32)> = self.terms.into_iter().collect();
        terms.sort_unstable();
        let mut starts = Vec::with_capacity(terms.len() + 1);
        let mut next = vec![0; terms.len()];
        let mut sum = 0_u32;
        for (_, term) in &terms {
            starts.push(sum);
            if let Some(next) = next.get_mut(*term as usize) {
                *next = sum;
            }
            sum = sum.saturating_add(self.counts.get(*term as usize).copied().unwrap_or(0));
        }
        starts.push(sum);
        let mut postings = vec![Posting(0); self.met.len()];
        for (term, posting) in self.met {
            let Some(at) = next.get_mut(term as usize) else { continue };
            if let Some(slot) = postings.get_mut(*at as usize) {
                *slot = posting;
            }
            *at += 1;
        }
        let keys: Vec<Key> = terms.into_iter().map(|(key, _)| key).collect();
        Postings { firsts: firsts(&keys), keys, starts, postings }
    }
}

/// Where the keys of each slot begin, and the end; about four keys a slot.
fn firsts(keys: &[Key]) -> Vec<u32> {
    let slots = keys.len().div_ceil(4);
    let mut firsts = Vec::with_capacity(slots + 1);
    for (at, key) in (0..).zip(keys) {
        while firsts.len() <= slot(*key, slots) {
            firsts.push(at);
        }
    }
    firsts.resize(slots + 1, u32::try_from(keys.len()).unwrap_or(u32::MAX));
    firsts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use std::collections::BTreeMap;

    fn all(run: &[Posting]) -> Vec<(Place, u64)> {
        run.iter().map(|posting| (posting.place(), posting.weight())).collect()
    }

    #[test]
    fn lists_hold_what_was_noted() {
        let mut collector = Collector::default();
        for (place, key, weight) in [(0, 7, 1), (0, 9, 2), (1, 7, 3), (4, 9, 4), (4, 7, 5)] {
            collector.note(key, place, weight);
        }
        let postings = collector.finish();
        assert_eq!(all(postings.run(7)), [(0, 1), (1, 3), (4, 5)]);
        assert_eq!(all(postings.run(9)), [(0, 2), (4, 4)]);
        assert!(postings.run(8).is_empty());
        let list = List { base: postings.run(7), added: &[Posting::new(9, 6)], gone: 1 };
        assert_eq!((list.at(4), list.at(2), list.at(9), list.len()), (Some(5), None, Some(6), 3));
        assert!(Collector::default().finish().run(7).is_empty());
    }

    #[test]
    fn the_last_place_and_the_greatest_weight_fit() {
        let posting = Posting::new(u32::try_from(MAX_PLACES).unwrap() - 1, Weight::MAX);
        assert_eq!((posting.place() as usize, posting.weight()), (MAX_PLACES - 1, 16_383));
    }

    proptest! {
        #[test]
        fn a_list_is_that_of_a_plain_map(
            noted in prop::collection::vec((prop_oneof![0_u64..20, any::<u64>()], 0_u16..9_000), 0..200),
        ) {
            let (mut collector, mut plain) = (Collector::default(), BTreeMap::new());
            for (place, (key, weight)) in (0..).zip(&noted) {
                collector.note(*key, place, *weight);
                let list: &mut Vec<_> = plain.entry(*key).or_default();
                list.push((place, u64::from(*weight)));
            }
            let postings = collector.finish();
            for (key, list) in &plain {
                prop_assert_eq!(&all(postings.run(*key)), list);
            }
            for key in [0, 21, u64::MAX, u64::MAX / 2] {
                prop_assert_eq!(postings.run(key).is_empty(), !plain.contains_key(&key));
            }
        }
    }
}
