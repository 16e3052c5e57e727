//! Accumulates scores by document while a query is processed.

use std::ops::Range;

use super::postings::DocId;

/// The number of documents whose scores are cleared together.
const CHUNK: usize = 64;

/// Scores by document, in units of 1/65,536. It tracks which chunks were written, so that clearing and
/// scanning cost only as much as was written.
#[derive(Debug, Default)]
pub(super) struct ScoreAccumulator {
    scores: Vec<u32>,
    /// For each chunk, whether it was written to.
    dirty: Vec<bool>,
    /// The highest score of each group of documents, after [`ScoreAccumulator::find_peaks`].
    peaks: Vec<u32>,
}

/// The size of a group of documents for pruning in an index of `docs` documents: small enough that
/// there are more groups than requested documents, and no smaller than necessary.
pub(super) fn group_size(docs: usize) -> usize {
    match docs {
        0..4_096 => 8,
        4_096..32_768 => 16,
        _ => CHUNK,
    }
}

impl ScoreAccumulator {
    /// Grows to a capacity of at least `items` documents.
    pub(super) fn ensure_capacity(&mut self, items: usize) {
        let chunks = items.div_ceil(CHUNK);
        if self.dirty.len() < chunks {
            self.scores.resize(chunks * CHUNK, 0);
            self.dirty.resize(chunks, false);
        }
    }

    #[inline]
    pub(super) fn add(&mut self, doc: DocId, score: u32) {
        let doc = doc as usize;
        if let (Some(sum), Some(dirty)) =
            (self.scores.get_mut(doc), self.dirty.get_mut(doc / CHUNK))
        {
            *sum = sum.saturating_add(score);
            *dirty = true;
        }
    }

    /// Resets the score of a document and returns it.
    #[inline]
    pub(super) fn take(&mut self, doc: DocId) -> u32 {
        self.scores.get_mut(doc as usize).map_or(0, std::mem::take)
    }

    pub(super) fn get(&self, doc: DocId) -> u32 {
        self.scores.get(doc as usize).copied().unwrap_or(0)
    }

    /// Computes the peaks of groups of `group` documents, a divisor of the chunk size. Returns the
    /// highest one.
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

    /// The highest score of each group, as of the last [`ScoreAccumulator::find_peaks`].
    pub(super) fn peaks(&self) -> &[u32] {
        &self.peaks
    }

    /// The scores of a range of documents.
    pub(super) fn scores(&self, docs: Range<usize>) -> &[u32] {
        self.scores.get(docs).unwrap_or_default()
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
