//! Decodes text encodings (Base64, percent, entities …) and maps offsets back to the input.
//!
//! A scanner that looks for values in plain text misses one that is percent-encoded, split by
//! zero-width characters or wrapped in base64. [`views`] gives the other readings of a text: a
//! [`View`] holds a part of it in plain form, and [`View::original`] names the input bytes that
//! carry what was found there.
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
//! All encodings are undone in one reading, so that a value may use several of them side by side.
//! What was wrapped more than once is read again, up to [`DEPTH`] times. The four layers that
//! guess ([`Layer::Joined`], [`Layer::Defanged`], [`Layer::Spaced`], [`Layer::Reversed`]) have
//! views of their own.
//!
//! A view covers the neighbourhood of what was undone, not the whole text: at least 64 bytes on
//! each side, and up to the end of the word there. Text without any encoding has no views and
//! costs two passes without a branch a byte. Time is linear in the length of the text.

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
mod work;

pub use self::layer::{Layer, Layers};
pub use self::view::View;

use std::ops::Range;
use std::sync::LazyLock;

use self::edit::Edits;
use self::glyph::Tags;
use crate::byte_classes::{self, ByteClassBitmaps, ClassTable};

/// What is never undone, and hides nothing: the unit separator. A caller that cuts something out of
/// a text puts it there, so that what stands on both sides is not read as one.
pub const BARRIER: char = '\u{1f}';

/// How many times a decoded text is decoded again.
pub const DEPTH: usize = 3;

/// Bytes that all views of a text may have together, for every byte of it.
pub const GROWTH: usize = 4;

/// A text with what its reader found out about it.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The text.
    pub text: &'a str,
    /// The classes of its bytes, [`classes`] among them.
    pub masks: &'a ByteClassBitmaps,
    /// Stretches of no interest, in order and apart: base64 and hexadecimal digits that lie in one
    /// of them are not undone.
    pub known: &'a [Range<usize>],
}

/// The classes of a byte for [`Source::masks`]: the three upper bits. The others are free for
/// classes of the caller's own.
#[must_use]
pub fn classes(byte: u8) -> u8 {
    encoded_runs::classes(byte)
}

/// Those of every byte.
static TABLE: LazyLock<ClassTable> = LazyLock::new(|| byte_classes::class_table(classes));

/// Appends the other readings of `text` to `out`: first those of the text itself in the order of
/// the text, then those of what they hold.
///
/// Returns whether all readings are there. It is false only if they together would pass
/// [`GROWTH`] times the length of the text, plus 256 bytes, or if the text has 4 GiB or more.
pub fn views(text: &str, layers: Layers, out: &mut Vec<View>) -> bool {
    let masks = ByteClassBitmaps::of(text.as_bytes(), &TABLE);
    views_of(Source { text, masks: &masks, known: &[] }, layers, out)
}

/// The same for a text whose classes are known.
pub fn views_of(source: Source<'_>, layers: Layers, out: &mut Vec<View>) -> bool {
    let length = source.text.len();
    if u32::try_from(length).is_err() {
        return false;
    }
    let mut room = length.saturating_mul(GROWTH).saturating_add(256);
    let mut from = out.len();
    let mut complete = readings(source, layers, None, &mut room, out);
    for _ in 1..DEPTH {
        let mut deeper = Vec::new();
        for view in out.get(from..).unwrap_or_default() {
            // One guess in a chain: guesses about guesses find nothing but their own inventions.
            let guessed = view.layers.overlaps(GUESSES);
            let layers = if guessed { layers.intersection(Layers::ENCODED) } else { layers };
            let masks = ByteClassBitmaps::of(view.text.as_bytes(), &TABLE);
            let source = Source { text: &view.text, masks: &masks, known: &[] };
            complete &= readings(source, layers, Some(view), &mut room, &mut deeper);
        }
        if deeper.is_empty() {
            break;
        }
        from = out.len();
        out.append(&mut deeper);
    }
    complete
}

/// The layers that guess.
const GUESSES: Layers =
    Layers::only(Layer::Joined).with(Layer::Defanged).with(Layer::Spaced).with(Layer::Reversed);

/// Appends the readings of one text, each with one round of decoding.
fn readings(
    source: Source<'_>,
    layers: Layers,
    base: Option<&View>,
    room: &mut usize,
    out: &mut Vec<View>,
) -> bool {
    let text = source.text;
    let mut edits = Edits::default();
    scan::encodings(source, layers, Tags::Spell, &mut edits);
    let mut complete = edits.views(text, base, room, out);
    if edits.has(Layer::Tag) {
        // Tags spell a text of their own, or they stand between the letters of another.
        let mut edits = Edits::default();
        scan::encodings(source, layers, Tags::Drop, &mut edits);
        complete &= edits.views(text, base, room, out);
    }
    if edits.has(Layer::Hex) {
        // Base64 can happen to look like hexadecimal, and either may be what was meant.
        let mut other = Edits::default();
        scan::encodings(source, layers.without(Layer::Hex), Tags::Spell, &mut other);
        if other.reads_as_base64(&edits) {
            complete &= other.views(text, base, room, out);
        }
    }
    for layer in layers.intersection(GUESSES).iter() {
        let mut edits = Edits::default();
        plain_text_layers::guesses(text, layer, &mut edits);
        complete &= edits.views(text, base, room, out);
    }
    complete
}

#[cfg(test)]
mod tests;
