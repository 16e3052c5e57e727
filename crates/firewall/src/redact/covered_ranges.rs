//! Ranges of a text that are known to be masked and need not be scanned again.

use std::ops::Range;

/// Disjoint ranges in ascending order.
#[derive(Debug, Clone, Default)]
pub(crate) struct CoveredRanges(Vec<Range<usize>>);

impl CoveredRanges {
    /// Adds ranges, merging those that overlap.
    pub(crate) fn add(&mut self, ranges: impl Iterator<Item = Range<usize>>) {
        let known = self.0.len();
        self.0.extend(ranges.filter(|range| !range.is_empty()));
        if self.0.len() == known {
            return;
        }
        self.0.sort_unstable_by_key(|range| range.start);
        self.0.dedup_by(|next, last| {
            let overlaps = next.start < last.end;
            if overlaps {
                last.end = last.end.max(next.end);
            }
            overlaps
        });
    }

    /// True if the whole range is covered.
    pub(crate) fn covers(&self, range: &Range<usize>) -> bool {
        let after = self.0.partition_point(|known| known.start <= range.start);
        let known = after.checked_sub(1).and_then(|at| self.0.get(at));
        known.is_some_and(|known| range.end <= known.end)
    }

    /// All ranges.
    pub(crate) fn ranges(&self) -> &[Range<usize>] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_overlap_are_covered_as_one() {
        let mut covered = CoveredRanges::default();
        covered.add([20..25, 3..8, 0..5].into_iter());
        covered.add([8..9, 4..4, 21..23].into_iter());
        assert_eq!(covered.ranges(), [0..8, 8..9, 20..25]);
        for (range, is_held) in [
            (0..8, true),
            (2..7, true),
            (20..25, true),
            (7..9, false),
            (9..10, false),
            (19..21, false),
        ] {
            assert_eq!(covered.covers(&range), is_held, "{range:?}");
        }
    }
}
