//! Lists of the items that hold a term, all lists in three arrays.

use std::collections::HashMap;

use super::document::Weight;
use super::key::Key;

/// An item as its position: those of the base in the order of their ids, later ones behind them.
pub(super) type Place = u32;

/// An item and its score, in units of 1/65,536.
pub(super) type Scored = (Place, u32);

/// A part of a list, in the order of places.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Run<'a> {
    pub(super) places: &'a [Place],
    pub(super) weights: &'a [Weight],
}

impl<'a> Run<'a> {
    fn pairs(self) -> impl Iterator<Item = (Place, Weight)> + 'a {
        self.places.iter().copied().zip(self.weights.iter().copied())
    }

    fn at(self, place: Place) -> Option<Weight> {
        let at = self.places.binary_search(&place).ok()?;
        self.weights.get(at).copied()
    }
}

/// The items that hold one term and what it weighs there: those of the base, then those that
/// were added since.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct List<'a> {
    pub(super) base: Run<'a>,
    pub(super) added: Run<'a>,
}

impl<'a> List<'a> {
    pub(super) fn len(self) -> usize {
        self.base.places.len() + self.added.places.len()
    }

    pub(super) fn places(self) -> impl Iterator<Item = Place> + 'a {
        self.base.places.iter().chain(self.added.places).copied()
    }

    pub(super) fn pairs(self) -> impl Iterator<Item = (Place, Weight)> + 'a {
        self.base.pairs().chain(self.added.pairs())
    }

    /// What the term weighs at this place.
    pub(super) fn at(self, place: Place) -> Option<Weight> {
        self.base.at(place).or_else(|| self.added.at(place))
    }
}

/// Lists by term.
#[derive(Debug, Default)]
pub(super) struct Postings {
    terms: HashMap<Key, u32>,
    /// Where the list of each term begins; one more than there are terms.
    starts: Vec<u32>,
    places: Vec<Place>,
    weights: Vec<Weight>,
}

impl Postings {
    /// The list of a term; empty for one that nothing holds.
    pub(super) fn run(&self, key: Key) -> Run<'_> {
        let bounds = || {
            let term = *self.terms.get(&key)? as usize;
            let (from, to) =
                (*self.starts.get(term)? as usize, *self.starts.get(term + 1)? as usize);
            Some(Run { places: self.places.get(from..to)?, weights: self.weights.get(from..to)? })
        };
        bounds().unwrap_or_default()
    }

    /// The bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        // A table keeps one byte more for each slot, and an eighth of its slots free.
        self.terms.capacity() * (size_of::<(Key, u32)>() + 1) * 8 / 7
            + size_of_val(self.starts.as_slice())
            + size_of_val(self.places.as_slice())
            + size_of_val(self.weights.as_slice())
    }
}

/// Collects what stands where, item after item.
#[derive(Debug, Default)]
pub(super) struct Collector {
    terms: HashMap<Key, u32>,
    /// How often each term was met.
    counts: Vec<u32>,
    met: Vec<(u32, Place, Weight)>,
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
            self.met.push((term, place, weight));
        }
    }

    /// The lists, each in the order in which its items came.
    pub(super) fn finish(self) -> Postings {
        let mut starts = Vec::with_capacity(self.counts.len() + 1);
        let mut sum = 0_u32;
        starts.push(sum);
        for count in &self.counts {
            sum = sum.saturating_add(*count);
            starts.push(sum);
        }
        let mut next = starts.clone();
        let mut places = vec![0; self.met.len()];
        let mut weights = vec![0; self.met.len()];
        for (term, place, weight) in self.met {
            let Some(at) = next.get_mut(term as usize) else { continue };
            let slot = *at as usize;
            *at += 1;
            if let (Some(p), Some(w)) = (places.get_mut(slot), weights.get_mut(slot)) {
                (*p, *w) = (place, weight);
            }
        }
        let mut terms = self.terms;
        terms.shrink_to_fit();
        Postings { terms, starts, places, weights }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_hold_what_was_noted() {
        let mut collector = Collector::default();
        for (place, key, weight) in [(0, 7, 1), (0, 9, 2), (1, 7, 3), (4, 9, 4), (4, 7, 5)] {
            collector.note(key, place, weight);
        }
        let postings = collector.finish();
        let list = |key| List { base: postings.run(key), added: Run::default() };
        let all = |key| list(key).pairs().collect::<Vec<_>>();
        assert_eq!(all(7), [(0, 1), (1, 3), (4, 5)]);
        assert_eq!(all(9), [(0, 2), (4, 4)]);
        assert!(all(8).is_empty());
        assert_eq!((list(7).at(4), list(7).at(2)), (Some(5), None));
        assert!(Collector::default().finish().run(7).places.is_empty());
    }
}
