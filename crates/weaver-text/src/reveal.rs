//! What hides a value in text, undone, with the way back to the input.
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
//! costs one pass of vector code. Time is linear in the length of the text.

mod ansi;
mod backslash;
mod edit;
mod encoded;
mod glyph;
mod layer;
mod map;
mod marked;
mod pairs;
mod scan;
mod view;
mod web;
mod work;

pub use self::layer::{Layer, Layers};
pub use self::view::View;

use self::edit::Edits;
use self::glyph::Tags;

/// How many times a decoded text is decoded again.
pub const DEPTH: usize = 3;

/// Bytes that all views of a text may have together, for every byte of it.
pub const GROWTH: usize = 4;

/// Appends the other readings of `text` to `out`: first those of the text itself in the order of
/// the text, then those of what they hold.
///
/// Returns whether all readings are there. It is false only if they together would pass
/// [`GROWTH`] times the length of the text, plus 256 bytes, or if the text has 4 GiB or more.
pub fn views(text: &str, layers: Layers, out: &mut Vec<View>) -> bool {
    if u32::try_from(text.len()).is_err() {
        return false;
    }
    let mut room = text.len().saturating_mul(GROWTH).saturating_add(256);
    let mut from = out.len();
    let mut complete = readings(text, layers, None, &mut room, out);
    for _ in 1..DEPTH {
        let mut deeper = Vec::new();
        for view in out.get(from..).unwrap_or_default() {
            // One guess in a chain: guesses about guesses find nothing but their own inventions.
            let guessed = view.layers.overlaps(GUESSES);
            let layers = if guessed { layers.intersection(Layers::ENCODED) } else { layers };
            complete &= readings(&view.text, layers, Some(view), &mut room, &mut deeper);
        }
        if deeper.is_empty() {
            break;
        }
        from = out.len();
        out.append(&mut deeper);
    }
    complete
}

/// Whether [`views`] would look closer at anything in `text`. False for most plain text; true does
/// not mean that there is a view.
pub fn may_hide(text: &str, layers: Layers) -> bool {
    layers.overlaps(GUESSES) || scan::has_encodings(text, layers)
}

/// The layers that guess.
const GUESSES: Layers =
    Layers::only(Layer::Joined).with(Layer::Defanged).with(Layer::Spaced).with(Layer::Reversed);

/// Appends the readings of one text, each with one round of decoding.
fn readings(
    text: &str,
    layers: Layers,
    base: Option<&View>,
    room: &mut usize,
    out: &mut Vec<View>,
) -> bool {
    let mut edits = Edits::default();
    scan::encodings(text, layers, Tags::Spell, &mut edits);
    let mut complete = edits.views(text, base, room, out);
    if edits.has(Layer::Tag) {
        // Tags spell a text of their own, or they stand between the letters of another.
        let mut edits = Edits::default();
        scan::encodings(text, layers, Tags::Drop, &mut edits);
        complete &= edits.views(text, base, room, out);
    }
    for layer in layers.intersection(GUESSES).iter() {
        let mut edits = Edits::default();
        marked::guesses(text, layer, &mut edits);
        complete &= edits.views(text, base, room, out);
    }
    complete
}

#[cfg(test)]
mod tests;
