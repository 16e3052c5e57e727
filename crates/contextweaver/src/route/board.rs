//! Scores by place while a query is answered.

use std::ops::Range;

use super::postings::Place;

/// Places are cleared in chunks of so many.
const CHUNK: usize = 64;

/// Scores by place, in units of 1/65,536. It remembers which chunks hold any, so that clearing and
/// walking cost what was written, not what there is.
#[derive(Debug, Default)]
pub(super) struct Board {
    scores: Vec<u32>,
    /// For each chunk, whether it was written to.
    dirty: Vec<bool>,
    /// The highest score of each group of places, once they were looked for.
    peaks: Vec<u32>,
}

/// How many places are a group, in an index of so many: there are to be more groups than places
/// that anybody asks for, and no more than need be.
pub(super) fn group(places: usize) -> usize {
    match places {
        0..4_096 => 8,
        4_096..32_768 => 16,
        _ => CHUNK,
    }
}

impl Board {
    /// At least so many places.
    pub(super) fn fit(&mut self, items: usize) {
        let chunks = items.div_ceil(CHUNK);
        if self.dirty.len() < chunks {
            self.scores.resize(chunks * CHUNK, 0);
            self.dirty.resize(chunks, false);
        }
    }

    #[inline]
    pub(super) fn add(&mut self, place: Place, score: u32) {
        let place = place as usize;
        if let (Some(sum), Some(dirty)) =
            (self.scores.get_mut(place), self.dirty.get_mut(place / CHUNK))
        {
            *sum = sum.saturating_add(score);
            *dirty = true;
        }
    }

    /// Takes a score away.
    #[inline]
    pub(super) fn take(&mut self, place: Place) -> u32 {
        self.scores.get_mut(place as usize).map_or(0, std::mem::take)
    }

    pub(super) fn get(&self, place: Place) -> u32 {
        self.scores.get(place as usize).copied().unwrap_or(0)
    }

    /// Looks for the peaks of groups of so many, a part of a chunk; gives the highest of them.
    pub(super) fn find_peaks(&mut self, group: usize) -> u32 {
        self.peaks.clear();
        for (scores, dirty) in self.scores.chunks_exact(CHUNK).zip(&self.dirty) {
            let groups = scores.chunks_exact(group);
            if *dirty {
                self.peaks.extend(groups.map(|scores| scores.iter().copied().fold(0, u32::max)));
            } else {
                self.peaks.extend(groups.map(|_| 0));
            }
        }
        self.peaks.iter().copied().fold(0, u32::max)
    }

    /// The highest score of each group, as it was when peaks were looked for.
    pub(super) fn peaks(&self) -> &[u32] {
        &self.peaks
    }

    /// The scores from one place up to another.
    pub(super) fn scores(&self, places: Range<usize>) -> &[u32] {
        self.scores.get(places).unwrap_or_default()
    }

    pub(super) fn clear(&mut self) {
        self.peaks.clear();
        for (scores, dirty) in self.scores.chunks_exact_mut(CHUNK).zip(&mut self.dirty) {
            if std::mem::take(dirty) {
                scores.fill(0);
            }
        }
    }
}
