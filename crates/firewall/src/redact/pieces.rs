//! Masking a text so that masking it again changes nothing.
//!
//! A mask that is already in the text divides it: the pieces between masks are looked at alone.
//! What is left of a piece after masking is looked at again, until nothing more is found; what
//! still has something after [`ROUNDS`] rounds is masked whole.

use std::borrow::Cow;

use weaver_text::normalise;

use super::engine::{Engine, Work};
use super::{Counts, MASK, count};

/// How often the rest of a piece is looked at.
const ROUNDS: usize = 6;

/// The text with every value masked.
pub(crate) fn mask<'t>(
    engine: &Engine,
    text: &'t str,
    counts: &mut Counts,
    work: &mut Work,
) -> Cow<'t, str> {
    let mut out = String::new();
    let mut changed = false;
    for (n, piece) in text.split(MASK).enumerate() {
        if n > 0 {
            out.push_str(MASK);
        }
        changed |= Piece { engine, out: &mut out, counts, work }.mask(piece, 0);
    }
    if changed { Cow::Owned(out) } else { Cow::Borrowed(text) }
}

struct Piece<'a> {
    engine: &'a Engine,
    out: &'a mut String,
    counts: &'a mut Counts,
    work: &'a mut Work,
}

impl Piece<'_> {
    /// Writes the masked piece; true when anything was masked. Recursion ends after [`ROUNDS`].
    fn mask(&mut self, piece: &str, round: usize) -> bool {
        let spans = self.spans(piece);
        if spans.is_empty() {
            self.out.push_str(piece);
            return false;
        }
        if round >= ROUNDS {
            count(self.counts, "remainder");
            self.out.push_str(MASK);
            return true;
        }
        let mut at = 0;
        for (range, kind) in spans {
            self.mask(piece.get(at..range.start).unwrap_or_default(), round + 1);
            self.out.push_str(MASK);
            count(self.counts, kind);
            at = range.end;
        }
        self.mask(piece.get(at..).unwrap_or_default(), round + 1);
        true
    }

    /// Values of the piece. Invisible characters and full-width forms are seen through: a value
    /// is looked for in the piece as it is and as it reads.
    fn spans(&mut self, piece: &str) -> Vec<(std::ops::Range<usize>, &'static str)> {
        if piece.is_empty() {
            return Vec::new();
        }
        if piece.is_ascii() {
            let found = self.engine.find(piece, self.work);
            return found.into_iter().map(|s| (s.range, self.engine.kind(s.rule))).collect();
        }
        let plain = normalise::normalise(piece);
        let found = self.engine.find(plain.text(), self.work);
        found
            .into_iter()
            .map(|span| (plain.original(span.range), self.engine.kind(span.rule)))
            .filter(|(range, _)| !range.is_empty())
            .collect()
    }
}
