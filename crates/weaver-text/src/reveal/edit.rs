//! Collects replacements in a text and builds decoded views around them.

use std::ops::Range;
use std::sync::Arc;

use super::layer::{Layer, Layers};
use super::map::{OffsetMap, Piece, Shape, to_u32, to_usize};
use super::view::View;
use crate::work;

/// Minimum bytes of context around a replacement in a view.
const CONTEXT: usize = 64;

/// How far beyond the context the boundary of a word is searched for, before and after.
const MAX_LOOK_BEFORE: usize = 256;
const MAX_LOOK_AFTER: usize = 1024;

/// One replacement. Its text and pieces start where those of the previous one end.
#[derive(Debug, Clone, Copy)]
struct Edit {
    start: u32,
    end: u32,
    text_end: u32,
    pieces_end: u32,
    layer: Layer,
}

/// The replacements in one text, in order and disjoint.
#[derive(Debug, Default)]
pub(super) struct Edits {
    /// The new text of all replacements, concatenated.
    text: String,
    /// The map of `text` to the input; `out` is a position in `text`.
    pieces: Vec<Piece>,
    /// Bytes of `text` that `pieces` cover.
    out: usize,
    list: Vec<Edit>,
}

impl Edits {
    /// Whether a replacement decodes `layer`.
    pub(super) fn has(&self, layer: Layer) -> bool {
        self.list.iter().any(|edit| edit.layer == layer)
    }

    /// Whether a base64 replacement of these overlaps a hexadecimal one of the others.
    pub(super) fn reads_as_base64(&self, others: &Self) -> bool {
        let mut hex = others.list.iter().filter(|edit| edit.layer == Layer::Hex).peekable();
        self.list.iter().filter(|edit| edit.layer == Layer::Base64).any(|edit| {
            while hex.next_if(|hex| hex.end <= edit.start).is_some() {}
            hex.peek().is_some_and(|hex| hex.start < edit.end)
        })
    }

    /// Replaces one escape sequence with `text`, which may be empty.
    pub(super) fn replace(&mut self, range: Range<usize>, text: &str, layer: Layer) {
        let shape = Shape::packed(text.len(), range.len());
        self.push_piece(range.clone(), text, shape);
        self.close(range, layer);
    }

    /// Adds `text`, decoded from `range`, to the open replacement.
    pub(super) fn push_piece(&mut self, range: Range<usize>, text: &str, shape: Shape) {
        self.add_source(range, text.len(), shape);
        self.push_text(text);
    }

    /// Maps the next `len` bytes of new text to `range`.
    pub(super) fn add_source(&mut self, range: Range<usize>, len: usize, shape: Shape) {
        if len == 0 {
            return;
        }
        let closed = self.list.last().map_or(0, |edit| to_usize(edit.pieces_end));
        let open = self.pieces.len() > closed;
        // Replacements that do not adjoin must not share a piece.
        let joined = open || self.list.last().is_some_and(|edit| to_usize(edit.end) == range.start);
        let taken = match self.pieces.last_mut() {
            Some(last) => joined && last.extend(self.out, &range, shape),
            None => false,
        };
        if !taken {
            self.pieces.push(Piece::new(self.out, range, shape));
        }
        self.out += len;
    }

    /// Appends new text that was already mapped.
    pub(super) fn push_text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Extends the last piece to `end` in the input, to include padding.
    pub(super) fn extend_to(&mut self, end: usize) {
        if let Some(last) = self.pieces.last_mut() {
            last.set_input_end(end);
        }
    }

    /// Closes the replacement of `range` with the text added since the previous one.
    pub(super) fn close(&mut self, range: Range<usize>, layer: Layer) {
        let (start, end) = (to_u32(range.start), to_u32(range.end));
        let (text_end, pieces_end) = (to_u32(self.text.len()), to_u32(self.pieces.len()));
        match self.list.last_mut() {
            Some(last) if last.end == start && last.layer == layer => {
                *last = Edit { start: last.start, end, text_end, pieces_end, layer };
            }
            _ => self.list.push(Edit { start, end, text_end, pieces_end, layer }),
        }
    }

    /// Builds a view around each group of replacements with overlapping context. Returns false if
    /// `room`, the bytes left for views, did not suffice for all.
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
            let start = context_start(text, to_usize(first.start), floor);
            let (after, end) = self.group(text, next);
            let view = self.view(text, start..end, next..after, base);
            let Some(rest) = room.checked_sub(view.text.len()) else { return false };
            *room = rest;
            out.push(view);
            (next, floor) = (after, end);
        }
        true
    }

    /// The index after the last replacement of the group that starts at `first`, and the end of its
    /// context.
    fn group(&self, text: &str, first: usize) -> (usize, usize) {
        let mut last = first;
        let mut reach = 0;
        while let Some(edit) = self.list.get(last) {
            if reach < (to_usize(edit.end) + CONTEXT).min(text.len()) {
                reach = context_end(text, to_usize(edit.end));
            }
            match self.list.get(last + 1) {
                Some(next) if to_usize(next.start) <= reach.saturating_add(CONTEXT) => last += 1,
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
        let mut from =
            before.map_or((0, 0), |edit| (to_usize(edit.text_end), to_usize(edit.pieces_end)));
        let mut layers = base.map_or(Layers::NONE, |view| view.layers);
        let mut decoded = String::with_capacity(span.len());
        let mut pieces = Vec::with_capacity(2 * edits.len() + 1);
        let mut at = span.start;
        for edit in self.list.get(edits).unwrap_or_default() {
            copy_part(text, at..to_usize(edit.start), &mut decoded, &mut pieces);
            let to = (to_usize(edit.text_end), to_usize(edit.pieces_end));
            for piece in self.pieces.get(from.1..to.1).unwrap_or_default() {
                pieces.push(piece.shifted(from.0, decoded.len()));
            }
            decoded.push_str(self.text.get(from.0..to.0).unwrap_or_default());
            layers = layers.with(edit.layer);
            from = to;
            at = to_usize(edit.end);
        }
        copy_part(text, at..span.end, &mut decoded, &mut pieces);
        let map = Arc::new(OffsetMap { pieces, len: decoded.len() });
        View::new(decoded, layers, span, map, base)
    }
}

fn copy_part(text: &str, range: Range<usize>, decoded: &mut String, pieces: &mut Vec<Piece>) {
    let Some(part) = text.get(range.clone()).filter(|part| !part.is_empty()) else { return };
    pieces.push(Piece::new(decoded.len(), range, Shape::COPY));
    decoded.push_str(part);
}

/// The start of the context before `at`: the start of a word if one is near enough, and never
/// inside a number, which would change its value.
fn context_start(text: &str, at: usize, floor: usize) -> usize {
    let near = text.floor_char_boundary(at.saturating_sub(CONTEXT)).max(floor);
    let far = at.saturating_sub(MAX_LOOK_BEFORE).max(floor);
    let bytes = text.as_bytes();
    let between = bytes.get(far..near).unwrap_or_default();
    work::add_steps(between.len());
    match between.iter().copied().rposition(ends_word) {
        Some(i) => far + i + 1,
        None if far == floor => floor,
        None => {
            let rest = bytes.get(near..at).unwrap_or_default();
            near + rest.iter().take_while(|b| b.is_ascii_digit()).count()
        }
    }
}

/// The end of the context after `at`: the end of a word if one is near enough, and never inside a
/// number.
fn context_end(text: &str, at: usize) -> usize {
    let near = text.ceil_char_boundary((at + CONTEXT).min(text.len()));
    let far = text.floor_char_boundary(near.saturating_add(MAX_LOOK_AFTER)).max(near);
    let bytes = text.as_bytes();
    let between = bytes.get(near..far).unwrap_or_default();
    let end = between.iter().copied().position(ends_word);
    work::add_steps(end.unwrap_or(between.len()));
    match end {
        Some(i) => near + i,
        None if far == text.len() => far,
        None => {
            let digits = between.iter().rev().take_while(|b| b.is_ascii_digit()).count();
            far - digits
        }
    }
}

/// True for a byte that ends a word, a field or a value.
fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b',' | b';')
}
