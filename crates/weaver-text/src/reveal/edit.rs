//! Replacements found in a text, and the decoded views built around them.

use std::ops::Range;
use std::sync::Arc;

use super::layer::{Layer, Layers};
use super::map::{Map, Piece, Shape};
use super::view::View;

/// Bytes of context that a view shows around a replacement, at least.
const CONTEXT: usize = 64;

/// How far a view looks for the end of the word at its border: to the left and to the right.
const LEFT: usize = 256;
const RIGHT: usize = 1024;

/// One replacement. Its text and pieces start where those of the one before end.
#[derive(Debug)]
struct Edit {
    start: usize,
    end: usize,
    text_end: usize,
    pieces_end: usize,
    layer: Layer,
}

/// The replacements found in one text, in order, none overlapping another.
#[derive(Debug, Default)]
pub(super) struct Edits {
    /// What all replacements put in, one after the other.
    text: String,
    /// Where that came from, with `out` counted in `text`.
    pieces: Vec<Piece>,
    /// Bytes of `text` whose pieces are known.
    out: usize,
    list: Vec<Edit>,
}

impl Edits {
    /// Whether a replacement undoes `layer`.
    pub(super) fn has(&self, layer: Layer) -> bool {
        self.list.iter().any(|edit| edit.layer == layer)
    }

    /// Replaces one escape sequence by `text`, which may be empty.
    pub(super) fn unit(&mut self, range: Range<usize>, text: &str, layer: Layer) {
        let shape = Shape::packed(text.len(), range.len());
        self.piece(range.clone(), text, shape);
        self.close(range, layer);
    }

    /// Puts in `text`, made of `range`, without ending the replacement.
    pub(super) fn piece(&mut self, range: Range<usize>, text: &str, shape: Shape) {
        self.source(range, text.len(), shape);
        self.put(text);
    }

    /// Says what the next `len` bytes that are put in are made of.
    pub(super) fn source(&mut self, range: Range<usize>, len: usize, shape: Shape) {
        if len == 0 {
            return;
        }
        let closed = self.list.last().map_or(0, |edit| edit.pieces_end);
        let open = self.pieces.len() > closed;
        // A gap between two replacements must stay between two pieces.
        let joined = open || self.list.last().is_some_and(|edit| edit.end == range.start);
        match self.pieces.last_mut() {
            Some(last) if joined && extends(last, self.out, &range, shape) => last.end = range.end,
            _ => {
                let Range { start, end } = range;
                self.pieces.push(Piece { out: self.out, input: start, end, shape });
            }
        }
        self.out += len;
    }

    /// Puts in text whose sources were named.
    pub(super) fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Counts what follows the last source up to `end`, such as padding, to its last unit.
    pub(super) fn stretch(&mut self, end: usize) {
        if let Some(last) = self.pieces.last_mut() {
            last.end = end;
        }
    }

    /// Ends the replacement of `range` by what was put in since the one before.
    pub(super) fn close(&mut self, range: Range<usize>, layer: Layer) {
        let (text_end, pieces_end) = (self.text.len(), self.pieces.len());
        match self.list.last_mut() {
            Some(last) if last.end == range.start && last.layer == layer => {
                last.end = range.end;
                last.text_end = text_end;
                last.pieces_end = pieces_end;
            }
            _ => {
                let Range { start, end } = range;
                self.list.push(Edit { start, end, text_end, pieces_end, layer });
            }
        }
    }

    /// Builds a view around each group of replacements that lie close together. Returns false if
    /// `room`, the bytes that the views may have, did not suffice for all.
    pub(super) fn views(
        &self,
        text: &str,
        base: Option<&View>,
        room: &mut usize,
        out: &mut Vec<View>,
    ) -> bool {
        let mut next = 0;
        let mut floor = 0;
        while let Some(first) = self.list.get(next) {
            let start = left(text, first.start, floor);
            let (after, end) = self.group(text, next);
            let view = self.view(text, start..end, next..after, base);
            let Some(rest) = room.checked_sub(view.text.len()) else { return false };
            *room = rest;
            out.push(view);
            (next, floor) = (after, end);
        }
        true
    }

    /// The index after the last replacement of the group that starts with `first`, and the end of
    /// its context.
    fn group(&self, text: &str, first: usize) -> (usize, usize) {
        let mut last = first;
        let mut reach = 0;
        while let Some(edit) = self.list.get(last) {
            if reach < (edit.end + CONTEXT).min(text.len()) {
                reach = right(text, edit.end);
            }
            match self.list.get(last + 1) {
                Some(next) if next.start <= reach.saturating_add(CONTEXT) => last += 1,
                _ => break,
            }
        }
        (last + 1, reach)
    }

    fn view(
        &self,
        text: &str,
        span: Range<usize>,
        edits: Range<usize>,
        base: Option<&View>,
    ) -> View {
        let before = edits.start.checked_sub(1).and_then(|i| self.list.get(i));
        let mut from = before.map_or((0, 0), |edit| (edit.text_end, edit.pieces_end));
        let mut layers = base.map_or(Layers::NONE, |view| view.layers);
        let mut decoded = String::with_capacity(span.len());
        let mut pieces = Vec::new();
        let mut at = span.start;
        for edit in self.list.get(edits).unwrap_or_default() {
            copy(text, at..edit.start, &mut decoded, &mut pieces);
            for piece in self.pieces.get(from.1..edit.pieces_end).unwrap_or_default() {
                pieces.push(Piece { out: piece.out - from.0 + decoded.len(), ..*piece });
            }
            decoded.push_str(self.text.get(from.0..edit.text_end).unwrap_or_default());
            layers = layers.with(edit.layer);
            from = (edit.text_end, edit.pieces_end);
            at = edit.end;
        }
        copy(text, at..span.end, &mut decoded, &mut pieces);
        let map = Arc::new(Map { pieces, len: decoded.len() });
        View::new(decoded, layers, span, map, base)
    }
}

/// Whether `range`, in this shape, goes on where `last` ends.
fn extends(last: &Piece, out: usize, range: &Range<usize>, shape: Shape) -> bool {
    let Shape::Units { per, width, step } = shape else { return false };
    last.shape == shape
        && width == step
        && last.end == range.start
        && (out - last.out).is_multiple_of(per.max(1))
        && (last.end - last.input).is_multiple_of(step.max(1))
}

fn copy(text: &str, range: Range<usize>, decoded: &mut String, pieces: &mut Vec<Piece>) {
    let Some(part) = text.get(range.clone()).filter(|part| !part.is_empty()) else { return };
    let Range { start, end } = range;
    pieces.push(Piece { out: decoded.len(), input: start, end, shape: Shape::COPY });
    decoded.push_str(part);
}

/// Where the context before `at` starts: at a word, if one starts near enough.
fn left(text: &str, at: usize, floor: usize) -> usize {
    let near = text.floor_char_boundary(at.saturating_sub(CONTEXT)).max(floor);
    let far = at.saturating_sub(LEFT).max(floor);
    let bytes = text.as_bytes().get(far..near).unwrap_or_default();
    if far == floor && !bytes.iter().copied().any(is_break) {
        return floor;
    }
    bytes.iter().copied().rposition(is_break).map_or(near, |i| far + i + 1)
}

/// Where the context after `at` ends: at the end of a word, if one ends near enough.
fn right(text: &str, at: usize) -> usize {
    let near = text.ceil_char_boundary((at + CONTEXT).min(text.len()));
    let far = text.floor_char_boundary(near.saturating_add(RIGHT)).max(near);
    let bytes = text.as_bytes().get(near..far).unwrap_or_default();
    bytes.iter().copied().position(is_break).map_or(far, |i| near + i)
}

/// A byte that ends a word, a field or a value.
fn is_break(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b',' | b';')
}
