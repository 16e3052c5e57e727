//! Maps the bytes of a decoded text back to the input.

use std::ops::Range;

/// How the output bytes of a piece map to its input bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Consecutive units of `per` output bytes made of `width` input bytes each. With width 0 the
    /// piece is a single unit of any size.
    Units { per: u8, width: u16 },
    /// Every second input byte.
    Spaced,
    /// The input bytes in reverse order.
    Backwards,
}

impl Shape {
    /// A verbatim copy of the input.
    pub(super) const COPY: Self = Self::Units { per: 1, width: 1 };

    /// `per` output bytes for every `width` input bytes.
    pub(super) fn packed(per: usize, width: usize) -> Self {
        match (u8::try_from(per), u16::try_from(width)) {
            (Ok(per), Ok(width)) => Self::Units { per, width },
            _ => Self::Units { per: 0, width: 0 },
        }
    }
}

/// A run of output from `out` to the next piece, made of the input bytes `input..end`. Positions
/// are 32 bits wide to save memory: each escape has a piece.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    out: u32,
    input: u32,
    end: u32,
    shape: Shape,
}

/// A position in 32 bits. Texts have less than 4 GiB, so that no position saturates.
pub(super) fn to_u32(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// A stored position as an index.
pub(super) fn to_usize(at: u32) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

impl Piece {
    pub(super) fn new(out: usize, input: Range<usize>, shape: Shape) -> Self {
        Self { out: to_u32(out), input: to_u32(input.start), end: to_u32(input.end), shape }
    }

    /// The piece, moved in the output by the distance between `from` and `to`.
    pub(super) fn shifted(self, from: usize, to: usize) -> Self {
        Self { out: to_u32(to_usize(self.out).saturating_sub(from).saturating_add(to)), ..self }
    }

    /// Extends the piece by `input` if that adjoins it in the input and continues it at `out` in
    /// whole units of the same shape. Returns whether it did.
    pub(super) fn extend(&mut self, out: usize, input: &Range<usize>, shape: Shape) -> bool {
        let Shape::Units { per, width } = shape else { return false };
        let fits = width > 0
            && self.shape == shape
            && to_usize(self.end) == input.start
            && (out - self.out()).is_multiple_of(usize::from(per.max(1)))
            && (self.end - self.input).is_multiple_of(u32::from(width));
        if fits {
            self.end = to_u32(input.end);
        }
        fits
    }

    /// Sets the end in the input.
    pub(super) fn set_input_end(&mut self, end: usize) {
        self.end = to_u32(end);
    }

    fn out(&self) -> usize {
        to_usize(self.out)
    }

    fn input(&self) -> Range<usize> {
        to_usize(self.input)..to_usize(self.end)
    }

    /// The input bytes of the output byte `at`, which lies in this piece.
    fn input_of(&self, at: usize) -> Range<usize> {
        let offset = at.saturating_sub(self.out());
        let Range { start, end } = self.input();
        match self.shape {
            Shape::Units { width: 0, .. } => start..end,
            Shape::Units { per, width } => {
                let width = usize::from(width);
                let from = (start + offset / usize::from(per.max(1)) * width).min(end);
                from..(from + width).min(end)
            }
            Shape::Spaced => {
                let from = (start + 2 * offset).min(end);
                from..(from + 1).min(end)
            }
            Shape::Backwards => {
                let to = end.saturating_sub(offset).max(start);
                to.saturating_sub(1).max(start)..to
            }
        }
    }
}

/// The map from a decoded text to the text it was decoded from.
#[derive(Debug, Default)]
pub(super) struct OffsetMap {
    /// Sorted by output position; the first starts at 0.
    pub(super) pieces: Vec<Piece>,
    /// Bytes of the decoded text.
    pub(super) len: usize,
}

impl OffsetMap {
    fn index(&self, at: usize) -> Option<usize> {
        self.pieces.partition_point(|piece| piece.out() <= at).checked_sub(1)
    }

    fn end_of(&self, index: usize) -> usize {
        self.pieces.get(index + 1).map_or(self.len, Piece::out)
    }

    /// The input bytes of a range of output bytes, which must be in bounds and not empty.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let last = range.end.saturating_sub(1);
        let (Some(i), Some(j)) = (self.index(range.start), self.index(last)) else {
            return 0..0;
        };
        let (Some(first), Some(other)) = (self.pieces.get(i), self.pieces.get(j)) else {
            return 0..0;
        };
        // A range that extends beyond a reversed piece maps to all of the piece.
        let source = |piece: &Piece, at| match piece.shape {
            Shape::Backwards if i != j => piece.input(),
            _ => piece.input_of(at),
        };
        let (from, to) = (source(first, range.start), source(other, last));
        from.start.min(to.start)..from.end.max(to.end)
    }

    /// Whether the range lies in one verbatim piece.
    pub(super) fn is_copied(&self, range: &Range<usize>) -> bool {
        self.index(range.start).is_some_and(|i| {
            range.end <= self.end_of(i)
                && self.pieces.get(i).is_some_and(|piece| piece.shape == Shape::COPY)
        })
    }
}
