//! Events without a payload, until a `log.pruned` event explains them.

use std::collections::BTreeMap;

use crate::prune::PruningNote;

/// Events without a payload: one bit each, in words of 64, so that ten million take a few megabytes
/// however they are distributed. Fully explained words are dropped.
#[derive(Debug, Default)]
pub(super) struct PrunedEvents {
    words: BTreeMap<u64, u64>,
    pruned: u64,
}

impl PrunedEvents {
    /// Records an event whose payload is missing.
    pub(super) fn add_missing(&mut self, seq: u64) {
        *self.words.entry(seq / 64).or_default() |= 1 << (seq % 64);
    }

    /// Applies a pruning note. Events that it names but that are present, or come later, do not
    /// count: nothing is pruned in advance.
    pub(super) fn explain_by(&mut self, note: &PruningNote) {
        for (first, last) in note.ranges().iter().copied() {
            self.explain_range(first, last);
        }
    }

    fn explain_range(&mut self, first: u64, last: u64) {
        let mut done = Vec::new();
        for (at, word) in self.words.range_mut(first / 64..=last / 64) {
            let from = if *at == first / 64 { first % 64 } else { 0 };
            let to = if *at == last / 64 { last % 64 } else { 63 };
            let mask = (u64::MAX << from) & (u64::MAX >> (63 - to));
            self.pruned += u64::from((*word & mask).count_ones());
            *word &= !mask;
            if *word == 0 {
                done.push(*at);
            }
        }
        for at in done {
            self.words.remove(&at);
        }
    }

    /// The number of missing payloads that notes explain.
    pub(super) fn explained(&self) -> u64 {
        self.pruned
    }

    /// The first event whose payload is missing without a note.
    pub(super) fn first(&self) -> Option<u64> {
        let (at, word) = self.words.first_key_value()?;
        Some(at * 64 + u64::from(word.trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::prune::PruneReason;

    proptest! {
        #[test]
        fn it_counts_as_a_set_does(
            missing in proptest::collection::btree_set(0_u64..400, 0..200),
            notes in proptest::collection::vec(
                proptest::collection::btree_set(0_u64..400, 1..80), 0..8,
            ),
        ) {
            let mut gone = PrunedEvents::default();
            missing.iter().for_each(|seq| gone.add_missing(*seq));
            let mut left: BTreeSet<u64> = missing.clone();
            for named in notes {
                let note = PruningNote::new(named.iter().copied().collect(), PruneReason::Age, "x").unwrap();
                gone.explain_by(&note);
                left.retain(|seq| !named.contains(seq));
                prop_assert_eq!(gone.first(), left.first().copied());
                prop_assert_eq!(gone.explained(), (missing.len() - left.len()) as u64);
            }
        }
    }
}
