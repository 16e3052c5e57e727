//! Abbreviates ids that are too long for a card.
//!
//! An abbreviated id is a prefix of the id, `~`, and 16 hexadecimal digits of its digest. An id
//! that has this form itself is always abbreviated as well, so that no item can pass itself off
//! under the abbreviated id of another.

use weaver_types::CapabilityId;
use weaver_types::digest::{Digest, DomainTag};

const DIGEST_DIGITS: usize = 16;

/// Whether an id has the form of an abbreviated one.
#[must_use]
pub fn looks_abbreviated(id: &str) -> bool {
    digest_suffix(id).is_some()
}

fn digest_suffix(id: &str) -> Option<&str> {
    let (_, digits) = id.rsplit_once('~')?;
    let hex = |b: u8| b.is_ascii_digit() || matches!(b, b'a'..=b'f');
    (digits.len() == DIGEST_DIGITS && digits.bytes().all(hex)).then_some(digits)
}

/// The abbreviated id, which keeps the first `prefix_length` characters.
pub(super) fn abbreviate(id: &CapabilityId, prefix_length: usize) -> String {
    let visible = |c: char| if c.is_ascii_graphic() && c != '~' { c } else { '-' };
    let head: String = id.as_str().chars().take(prefix_length).map(visible).collect();
    format!("{head}~{}", id_digest(id))
}

fn id_digest(id: &CapabilityId) -> String {
    let digest = Digest::of_parts(DomainTag::EXPOSED, &[id.as_str().as_bytes()]).to_hex();
    digest.chars().take(DIGEST_DIGITS).collect()
}

/// The one of `ids` that a card shows as `text`, in full or abbreviated.
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
    let suffix = digest_suffix(text);
    ids.into_iter().find(|id| match suffix {
        Some(digits) => id_digest(id) == digits,
        None => id.as_str() == text,
    })
}
