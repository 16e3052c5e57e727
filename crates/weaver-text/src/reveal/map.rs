//! Where each byte of a decoded text came from.

use std::ops::Range;

/// How the bytes of a piece follow from the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Units of `per` output bytes, each made of `width` input bytes that lie `step` apart.
    Units { per: usize, width: usize, step: usize },
    /// The input bytes from the last to the first.
    Backwards,
}

impl Shape {
    /// Output bytes that are input bytes.
    pub(super) const COPY: Self = Self::Units { per: 1, width: 1, step: 1 };

    /// One unit after the other: `per` output bytes for every `width` input bytes.
    pub(super) const fn packed(per: usize, width: usize) -> Self {
        Self::Units { per, width, step: width }
    }
}

/// A stretch of output made of the input bytes `input..end` in one manner. It starts at `out` and
/// goes on to the next piece.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) out: usize,
    pub(super) input: usize,
    pub(super) end: usize,
    pub(super) shape: Shape,
}

impl Piece {
    /// The input bytes behind the output byte `at`, which lies in this piece of `len` bytes.
    fn source(&self, at: usize, len: usize) -> Range<usize> {
        let offset = at.saturating_sub(self.out);
        match self.shape {
            Shape::Units { per, width, step } => {
                let start = (self.input + offset / per.max(1) * step).min(self.end);
                start..(start + width).min(self.end)
            }
            Shape::Backwards => {
                let end = self.end.saturating_sub(offset.min(len)).max(self.input);
                end.saturating_sub(1).max(self.input)..end
            }
        }
    }
}

/// The way from one decoded text back to the text that it was decoded from.
#[derive(Debug, Default)]
pub(super) struct Map {
    /// Ordered by `out`; the first starts at 0.
    pub(super) pieces: Vec<Piece>,
    /// Bytes of the decoded text.
    pub(super) len: usize,
}

impl Map {
    fn index(&self, at: usize) -> Option<usize> {
        self.pieces.partition_point(|piece| piece.out <= at).checked_sub(1)
    }

    fn end_of(&self, index: usize) -> usize {
        self.pieces.get(index + 1).map_or(self.len, |next| next.out)
    }

    /// The input bytes behind a range of output bytes that is not empty and in bounds.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let last = range.end.saturating_sub(1);
        let (Some(i), Some(j)) = (self.index(range.start), self.index(last)) else {
            return 0..0;
        };
        let (Some(first), Some(other)) = (self.pieces.get(i), self.pieces.get(j)) else {
            return 0..0;
        };
        let first_len = self.end_of(i) - first.out;
        let other_len = self.end_of(j) - other.out;
        let mut from = first.source(range.start, first_len);
        let mut to = other.source(last, other_len);
        if i != j {
            // What leaves a piece that runs backwards needs all of it.
            if first.shape == Shape::Backwards {
                from = first.input..first.end;
            }
            if other.shape == Shape::Backwards {
                to = other.input..other.end;
            }
        }
        from.start.min(to.start)..from.end.max(to.end)
    }

    /// Whether the range lies in one copied piece.
    pub(super) fn copied(&self, range: &Range<usize>) -> bool {
        self.index(range.start).is_some_and(|i| {
            range.end <= self.end_of(i)
                && self.pieces.get(i).is_some_and(|piece| piece.shape == Shape::COPY)
        })
    }
}
