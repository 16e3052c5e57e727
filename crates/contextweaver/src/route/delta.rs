//! What was added to an index since its base was built.

use super::document::Weight;
use super::key::Key;
use super::postings::{Place, Run};

/// Lists by term as three arrays in the order of terms, then of places: small, and quick to write
/// anew with one item more or less.
#[derive(Debug, Clone, Default)]
pub(super) struct Additions {
    keys: Vec<Key>,
    places: Vec<Place>,
    weights: Vec<Weight>,
}

impl Additions {
    pub(super) fn run(&self, key: Key) -> Run<'_> {
        let from = self.keys.partition_point(|other| *other < key);
        let rest = self.keys.get(from..).unwrap_or_default();
        let range = from..from + rest.partition_point(|other| *other == key);
        let places = self.places.get(range.clone()).unwrap_or_default();
        Run { places, weights: self.weights.get(range).unwrap_or_default() }
    }

    /// The same with the terms of an item whose place lies behind all others.
    pub(super) fn with(&self, place: Place, terms: &[(Key, Weight)]) -> Self {
        debug_assert!(terms.is_sorted_by_key(|(key, _)| *key), "terms come in their order");
        let mut new = Self::with_capacity(self.keys.len() + terms.len());
        let mut from = 0;
        for (key, weight) in terms {
            let rest = self.keys.get(from..).unwrap_or_default();
            let to = from + rest.partition_point(|other| other <= key);
            new.copy(self, from..to);
            new.push(*key, place, *weight);
            from = to;
        }
        new.copy(self, from..self.keys.len());
        new
    }

    /// The same without the terms of an item.
    pub(super) fn without(&self, place: Place) -> Self {
        let mut new = Self::with_capacity(self.keys.len());
        let all = self.keys.iter().zip(&self.places).zip(&self.weights);
        for ((key, other), weight) in all.filter(|((_, other), _)| **other != place) {
            new.push(*key, *other, *weight);
        }
        new
    }

    fn with_capacity(size: usize) -> Self {
        let (places, weights) = (Vec::with_capacity(size), Vec::with_capacity(size));
        Self { keys: Vec::with_capacity(size), places, weights }
    }

    fn push(&mut self, key: Key, place: Place, weight: Weight) {
        self.keys.push(key);
        self.places.push(place);
        self.weights.push(weight);
    }

    fn copy(&mut self, other: &Self, range: std::ops::Range<usize>) {
        self.keys.extend_from_slice(other.keys.get(range.clone()).unwrap_or_default());
        self.places.extend_from_slice(other.places.get(range.clone()).unwrap_or_default());
        self.weights.extend_from_slice(other.weights.get(range).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_and_go() {
        let one = Additions::default().with(10, &[(3, 1), (7, 2)]);
        let two = one.with(11, &[(1, 3), (7, 4), (9, 5)]);
        assert_eq!((two.run(7).places, two.run(7).weights), (&[10, 11][..], &[2, 4][..]));
        assert_eq!((two.run(1).places, two.run(3).places), (&[11][..], &[10][..]));
        assert!(two.run(8).places.is_empty());
        let less = two.without(10);
        assert_eq!((less.run(7).places, less.run(3).places), (&[11][..], &[][..]));
        assert!(less.without(11).keys.is_empty());
    }
}
