//! Decodes text encodings (Base64, percent, entities …) and maps offsets back to the input.
//!
//! A scanner for values in plain text misses one that is percent-encoded, split by zero-width
//! characters or encoded as base64. [`views`] gives the decoded readings of a text: a [`View`]
//! holds a part of the text in decoded form, and [`View::original`] maps a range of it back to the
//! input.
//!
//! ```
//! use weaver_text::reveal::{self, Layers};
//!
//! let text = "user=jane%40ex\u{200b}ample.com&ok=1";
//! let mut views = Vec::new();
//! reveal::views(text, Layers::ENCODED, &mut views);
//! let view = views.first().ok_or("no view")?;
//! let at = view.text.find("jane@example.com").ok_or("not found")?;
//! assert_eq!(text.get(view.original(at..at + 16)), Some("jane%40ex\u{200b}ample.com"));
//! # Ok::<(), &str>(())
//! ```
//!
//! One pass decodes all encodings, so that a value may mix several of them. Decoded text is decoded
//! again, up to [`MAX_DEPTH`] passes in all. The four heuristic layers ([`Layer::Joined`],
//! [`Layer::Defanged`], [`Layer::Spaced`], [`Layer::Reversed`]) each give separate views.
//!
//! A view covers the decoded part with context, not the whole text: at least 64 bytes on each side,
//! extended to the end of a word. Text without encodings gives no views and costs two passes
//! without a branch for each byte. Time is linear in the length of the text.

mod ansi;
mod backslash;
mod decoded_runs;
mod digit_run;
mod edit;
mod encoded_runs;
mod glyph;
mod layer;
mod map;
mod pairs;
mod plain_text_layers;
mod scan;
mod view;
mod web;

pub use self::layer::{Layer, Layers};
pub use self::view::View;

use std::ops::Range;
use std::sync::LazyLock;

use self::edit::Edits;
use self::glyph::TagHandling;
use crate::byte_classes::{self, ByteClassBitmaps, ClassTable};

/// The unit separator, which is never decoded or removed. A caller that cuts something out of a
/// text puts it there, so that the text on both sides is not joined.
pub const BARRIER: char = '\u{1f}';

/// The maximum number of decoding passes.
pub const MAX_DEPTH: usize = 3;

/// The maximum total size of the views of a text, in multiples of its length.
pub const MAX_GROWTH: usize = 4;

/// A text with its byte classes.
#[derive(Debug, Clone, Copy)]
pub struct ClassifiedText<'a> {
    /// The text.
    pub text: &'a str,
    /// The classes of its bytes, [`classes`] among them.
    pub bitmaps: &'a ByteClassBitmaps,
    /// Sorted, disjoint ranges in which runs of base64 and hexadecimal digits are not decoded.
    pub skipped_ranges: &'a [Range<usize>],
    /// Whether the text is cut out of a longer one within a run of base64 or hexadecimal digits, and
    /// begins anywhere in it. The run is then decoded from any digit of a group on, and from the
    /// first whole character.
    pub begins_in_run: bool,
}

/// The classes of a byte for [`ClassifiedText::bitmaps`]: the three upper bits. The lower ones are
/// free for the caller.
#[must_use]
pub fn classes(byte: u8) -> u8 {
    encoded_runs::classes(byte)
}

/// The classes of every byte.
static TABLE: LazyLock<ClassTable> = LazyLock::new(|| byte_classes::class_table(classes));

/// Appends the decoded views of `text` to `out`: first those of the text itself in its order, then
/// those of decoded text.
///
/// Returns whether the views are complete. They are not if their total size would exceed
/// [`MAX_GROWTH`] times the length of the text plus 256 bytes, or if the text has 4 GiB or more.
pub fn views(text: &str, layers: Layers, out: &mut Vec<View>) -> bool {
    let bitmaps = ByteClassBitmaps::from_bytes(text.as_bytes(), &TABLE);
    views_of_classified(
        ClassifiedText { text, bitmaps: &bitmaps, skipped_ranges: &[], begins_in_run: false },
        layers,
        out,
    )
}

/// Like [`views`], for a text whose byte classes are known.
pub fn views_of_classified(
    source: ClassifiedText<'_>,
    layers: Layers,
    out: &mut Vec<View>,
) -> bool {
    let length = source.text.len();
    if u32::try_from(length).is_err() {
        return false;
    }
    let mut room = length.saturating_mul(MAX_GROWTH).saturating_add(256);
    let mut from = out.len();
    let mut complete = decode_once(source, layers, None, &mut room, out);
    for _ in 1..MAX_DEPTH {
        let mut deeper = Vec::new();
        for view in out.get(from..).unwrap_or_default() {
            // Heuristics apply once in a chain: applied to their own results they find only artefacts.
            let guessed = view.layers.overlaps(HEURISTIC_LAYERS);
            let layers = if guessed { layers.intersection(Layers::ENCODED) } else { layers };
            let bitmaps = ByteClassBitmaps::from_bytes(view.text.as_bytes(), &TABLE);
            let inner = ClassifiedText {
                text: &view.text,
                bitmaps: &bitmaps,
                skipped_ranges: &[],
                begins_in_run: source.begins_in_run && view.span().start == 0,
            };
            complete &= decode_once(inner, layers, Some(view), &mut room, &mut deeper);
        }
        if deeper.is_empty() {
            break;
        }
        from = out.len();
        out.append(&mut deeper);
    }
    complete
}

/// The layers that rewrite plain text by heuristics.
const HEURISTIC_LAYERS: Layers =
    Layers::only(Layer::Joined).with(Layer::Defanged).with(Layer::Spaced).with(Layer::Reversed);

/// Appends the views of one text after one pass of decoding.
fn decode_once(
    source: ClassifiedText<'_>,
    layers: Layers,
    base: Option<&View>,
    room: &mut usize,
    out: &mut Vec<View>,
) -> bool {
    let text = source.text;
    let mut edits = Edits::default();
    scan::encodings(source, layers, TagHandling::Spell, &mut edits);
    let mut complete = edits.views(text, base, room, out);
    if edits.has(Layer::Tag) {
        // Tags may spell a text, or separate the letters of another one.
        let mut edits = Edits::default();
        scan::encodings(source, layers, TagHandling::Drop, &mut edits);
        complete &= edits.views(text, base, room, out);
    }
    if edits.has(Layer::Hex) {
        // Base64 may consist of hexadecimal digits: try both.
        let mut other = Edits::default();
        scan::encodings(source, layers.without(Layer::Hex), TagHandling::Spell, &mut other);
        if other.reads_as_base64(&edits) {
            complete &= other.views(text, base, room, out);
        }
    }
    for layer in layers.intersection(HEURISTIC_LAYERS).iter() {
        let mut edits = Edits::default();
        plain_text_layers::collect(text, layer, &mut edits);
        complete &= edits.views(text, base, room, out);
    }
    complete
}

#[cfg(test)]
mod tests;
