//! Replacements found in a text, and the decoded views built around them.

use std::ops::Range;
use std::sync::Arc;

use super::layer::{Layer, Layers};
use super::map::{Map, Piece, Shape, long, short};
use super::view::View;
use super::work;

/// Bytes of context that a view shows around a replacement, at least.
const CONTEXT: usize = 64;

/// How far a view looks for the end of the word at its border: to the left and to the right.
const LEFT: usize = 256;
const RIGHT: usize = 1024;

/// One replacement. Its text and pieces start where those of the one before end.
#[derive(Debug, Clone, Copy)]
struct Edit {
    start: u32,
    end: u32,
    text_end: u32,
    pieces_end: u32,
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

    /// Whether these replacements read as base64 what the others, at least in part, read as
    /// hexadecimal digits.
    pub(super) fn reads_as_base64(&self, others: &Self) -> bool {
        let mut hex = others.list.iter().filter(|edit| edit.layer == Layer::Hex).peekable();
        self.list.iter().filter(|edit| edit.layer == Layer::Base64).any(|edit| {
            while hex.next_if(|hex| hex.end <= edit.start).is_some() {}
            hex.peek().is_some_and(|hex| hex.start < edit.end)
        })
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
        let closed = self.list.last().map_or(0, |edit| long(edit.pieces_end));
        let open = self.pieces.len() > closed;
        // A gap between two replacements must stay between two pieces.
        let joined = open || self.list.last().is_some_and(|edit| long(edit.end) == range.start);
        let taken = match self.pieces.last_mut() {
            Some(last) => joined && last.extend(self.out, &range, shape),
            None => false,
        };
        if !taken {
            self.pieces.push(Piece::new(self.out, range, shape));
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
            last.stretch(end);
        }
    }

    /// Ends the replacement of `range` by what was put in since the one before.
    pub(super) fn close(&mut self, range: Range<usize>, layer: Layer) {
        let (start, end) = (short(range.start), short(range.end));
        let (text_end, pieces_end) = (short(self.text.len()), short(self.pieces.len()));
        match self.list.last_mut() {
            Some(last) if last.end == start && last.layer == layer => {
                *last = Edit { start: last.start, end, text_end, pieces_end, layer };
            }
            _ => self.list.push(Edit { start, end, text_end, pieces_end, layer }),
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
            let start = left(text, long(first.start), floor);
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
            if reach < (long(edit.end) + CONTEXT).min(text.len()) {
                reach = right(text, long(edit.end));
            }
            match self.list.get(last + 1) {
                Some(next) if long(next.start) <= reach.saturating_add(CONTEXT) => last += 1,
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
        let mut from = before.map_or((0, 0), |edit| (long(edit.text_end), long(edit.pieces_end)));
        let mut layers = base.map_or(Layers::NONE, |view| view.layers);
        let mut decoded = String::with_capacity(span.len());
        let mut pieces = Vec::with_capacity(2 * edits.len() + 1);
        let mut at = span.start;
        for edit in self.list.get(edits).unwrap_or_default() {
            copy(text, at..long(edit.start), &mut decoded, &mut pieces);
            let to = (long(edit.text_end), long(edit.pieces_end));
            for piece in self.pieces.get(from.1..to.1).unwrap_or_default() {
                pieces.push(piece.moved(from.0, decoded.len()));
            }
            decoded.push_str(self.text.get(from.0..to.0).unwrap_or_default());
            layers = layers.with(edit.layer);
            from = to;
            at = long(edit.end);
        }
        copy(text, at..span.end, &mut decoded, &mut pieces);
        let map = Arc::new(Map { pieces, len: decoded.len() });
        View::new(decoded, layers, span, map, base)
    }
}

fn copy(text: &str, range: Range<usize>, decoded: &mut String, pieces: &mut Vec<Piece>) {
    let Some(part) = text.get(range.clone()).filter(|part| !part.is_empty()) else { return };
    pieces.push(Piece::new(decoded.len(), range, Shape::COPY));
    decoded.push_str(part);
}

/// Where the context before `at` starts: at a word, if one starts near enough, and never inside a
/// number, which would be another number then.
fn left(text: &str, at: usize, floor: usize) -> usize {
    let near = text.floor_char_boundary(at.saturating_sub(CONTEXT)).max(floor);
    let far = at.saturating_sub(LEFT).max(floor);
    let bytes = text.as_bytes();
    let between = bytes.get(far..near).unwrap_or_default();
    work::looked_at(between.len());
    match between.iter().copied().rposition(is_break) {
        Some(i) => far + i + 1,
        None if far == floor => floor,
        None => {
            let rest = bytes.get(near..at).unwrap_or_default();
            near + rest.iter().take_while(|b| b.is_ascii_digit()).count()
        }
    }
}

/// Where the context after `at` ends: at the end of a word, if one ends near enough, and never
/// inside a number.
fn right(text: &str, at: usize) -> usize {
    let near = text.ceil_char_boundary((at + CONTEXT).min(text.len()));
    let far = text.floor_char_boundary(near.saturating_add(RIGHT)).max(near);
    let bytes = text.as_bytes();
    let between = bytes.get(near..far).unwrap_or_default();
    let end = between.iter().copied().position(is_break);
    work::looked_at(end.unwrap_or(between.len()));
    match end {
        Some(i) => near + i,
        None if far == text.len() => far,
        None => {
            let digits = between.iter().rev().take_while(|b| b.is_ascii_digit()).count();
            far - digits
        }
    }
}

/// A byte that ends a word, a field or a value.
fn is_break(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b',' | b';')
}
