//! Ids that are too long for a card.
//!
//! A cut id is the beginning of the id, `~`, and 16 hexadecimal digits of its digest. An id that
//! looks like a cut one is always cut itself, so no item can take the cut id of another.

use weaver_types::CapabilityId;
use weaver_types::digest::{Digest, Tag};

const DIGITS: usize = 16;

/// Whether a text ends as a cut id does.
#[must_use]
pub fn looks_cut(id: &str) -> bool {
    digits(id).is_some()
}

fn digits(id: &str) -> Option<&str> {
    let (_, digits) = id.rsplit_once('~')?;
    let hex = |b: u8| b.is_ascii_digit() || matches!(b, b'a'..=b'f');
    (digits.len() == DIGITS && digits.bytes().all(hex)).then_some(digits)
}

/// The id, with `readable` of its characters.
pub(super) fn cut(id: &CapabilityId, readable: usize) -> String {
    let visible = |c: char| if c.is_ascii_graphic() && c != '~' { c } else { '-' };
    let head: String = id.as_str().chars().take(readable).map(visible).collect();
    format!("{head}~{}", digest(id))
}

fn digest(id: &CapabilityId) -> String {
    let digest = Digest::of_parts(Tag::EXPOSED, &[id.as_str().as_bytes()]).to_hex();
    digest.chars().take(DIGITS).collect()
}

/// The id behind the text of a card's id: itself, or the one of `ids` that was cut to it.
///
/// ```
/// use contextweaver::card::full_id;
/// use contextweaver::types::CapabilityId;
///
/// let known = [CapabilityId::parse("fs.read")?];
/// assert_eq!(full_id("fs.read", &known), Some(&known[0]));
/// assert_eq!(full_id("fs.write", &known), None);
/// # Ok::<(), contextweaver::types::IdError>(())
/// ```
pub fn full_id<'a>(
    text: &str,
    ids: impl IntoIterator<Item = &'a CapabilityId>,
) -> Option<&'a CapabilityId> {
    let cut = digits(text);
    ids.into_iter().find(|id| match cut {
        Some(digits) => digest(id) == digits,
        None => id.as_str() == text,
    })
}
