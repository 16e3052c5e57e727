//! Maps each byte of a decoded text back to the input.

use std::ops::Range;

/// How the bytes of a piece follow from the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Units of `per` output bytes, each made of `width` input bytes, one behind the other. With
    /// width 0 the piece is a single unit, however wide.
    Units { per: u8, width: u16 },
    /// Input bytes with one byte between them that was left out.
    Spaced,
    /// The input bytes from the last to the first.
    Backwards,
}

impl Shape {
    /// Output bytes that are input bytes.
    pub(super) const COPY: Self = Self::Units { per: 1, width: 1 };

    /// `per` output bytes for every `width` input bytes.
    pub(super) fn packed(per: usize, width: usize) -> Self {
        match (u8::try_from(per), u16::try_from(width)) {
            (Ok(per), Ok(width)) => Self::Units { per, width },
            _ => Self::Units { per: 0, width: 0 },
        }
    }
}

/// A stretch of output made of the input bytes `input..end` in one manner. It starts at `out` and
/// goes on to the next piece. Positions take four bytes, as there is a piece for every escape.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    out: u32,
    input: u32,
    end: u32,
    shape: Shape,
}

/// A position in a text; none is longer than four bytes can say.
pub(super) fn short(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// A position in four bytes, for use.
pub(super) fn long(at: u32) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

impl Piece {
    pub(super) fn new(out: usize, input: Range<usize>, shape: Shape) -> Self {
        Self { out: short(out), input: short(input.start), end: short(input.end), shape }
    }

    /// The same piece, moved in the output.
    pub(super) fn moved(self, from: usize, to: usize) -> Self {
        Self { out: short(long(self.out).saturating_sub(from).saturating_add(to)), ..self }
    }

    /// Takes up what follows it in the input and, at `out`, in the output, if that has the same
    /// shape in whole units.
    pub(super) fn extend(&mut self, out: usize, input: &Range<usize>, shape: Shape) -> bool {
        let Shape::Units { per, width } = shape else { return false };
        let fits = width > 0
            && self.shape == shape
            && long(self.end) == input.start
            && (out - self.out()).is_multiple_of(usize::from(per.max(1)))
            && (self.end - self.input).is_multiple_of(u32::from(width));
        if fits {
            self.end = short(input.end);
        }
        fits
    }

    /// Moves the end in the input.
    pub(super) fn stretch(&mut self, end: usize) {
        self.end = short(end);
    }

    fn out(&self) -> usize {
        long(self.out)
    }

    fn input(&self) -> Range<usize> {
        long(self.input)..long(self.end)
    }

    /// The input bytes behind the output byte `at`, which lies in this piece.
    fn source(&self, at: usize) -> Range<usize> {
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

/// The way from one decoded text back to the text that it was decoded from.
#[derive(Debug, Default)]
pub(super) struct Map {
    /// In the order of the output; the first starts at 0.
    pub(super) pieces: Vec<Piece>,
    /// Bytes of the decoded text.
    pub(super) len: usize,
}

impl Map {
    fn index(&self, at: usize) -> Option<usize> {
        self.pieces.partition_point(|piece| piece.out() <= at).checked_sub(1)
    }

    fn end_of(&self, index: usize) -> usize {
        self.pieces.get(index + 1).map_or(self.len, Piece::out)
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
        // What leaves a piece that runs backwards needs all of it.
        let source = |piece: &Piece, at| match piece.shape {
            Shape::Backwards if i != j => piece.input(),
            _ => piece.source(at),
        };
        let (from, to) = (source(first, range.start), source(other, last));
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
