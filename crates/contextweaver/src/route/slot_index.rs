//! A lookup table for interpolation search in sorted, evenly distributed numbers such as hashes.

use std::ops::Range;

/// For each slot of the number range, the position of its first number, so that a lookup reads only a
/// few numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct SlotIndex(Vec<u32>);

impl SlotIndex {
    /// Builds the table from sorted numbers, with about `each` numbers per slot.
    pub(super) fn of(numbers: impl ExactSizeIterator<Item = u64>, each: usize) -> Self {
        let count = numbers.len();
        let slots = count.div_ceil(each.max(1));
        let mut firsts = Vec::with_capacity(slots + 1);
        for (at, number) in (0..).zip(numbers) {
            while firsts.len() <= slot(number, slots) {
                firsts.push(at);
            }
        }
        firsts.resize(slots + 1, u32::try_from(count).unwrap_or(u32::MAX));
        Self(firsts)
    }

    /// The range of positions that contains the number, if it is there.
    #[inline]
    pub(super) fn range_of(&self, number: u64) -> Range<usize> {
        let slot = slot(number, self.0.len().saturating_sub(1));
        match (self.0.get(slot), self.0.get(slot + 1)) {
            (Some(from), Some(to)) => *from as usize..*to as usize,
            _ => 0..0,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.0.as_slice())
    }
}

fn slot(number: u64, slots: usize) -> usize {
    let product = u128::from(number) * slots as u128;
    usize::try_from(product >> 64).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_number_stands_where_it_is_looked_for(
            mut numbers in prop::collection::vec(prop_oneof![0_u64..20, any::<u64>()], 0..200),
            each in 1_usize..9,
            other: u64,
        ) {
            numbers.sort_unstable();
            let slots = SlotIndex::of(numbers.iter().copied(), each);
            for number in numbers.iter().chain([&other]) {
                let all = numbers.iter().filter(|n| *n == number).count();
                let around = numbers.get(slots.range_of(*number)).unwrap();
                prop_assert_eq!(around.iter().filter(|n| *n == number).count(), all);
            }
        }
    }

    #[test]
    fn few_are_read_where_numbers_are_spread() {
        let numbers: Vec<u64> = (0..1_000).map(|n| n << 54).collect();
        let slots = SlotIndex::of(numbers.iter().copied(), 4);
        assert!(numbers.iter().all(|number| slots.range_of(*number).len() <= 5));
        assert!(SlotIndex::default().range_of(7).is_empty());
    }
}
