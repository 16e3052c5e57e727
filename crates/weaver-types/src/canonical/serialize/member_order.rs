//! Sorts the members of an object that was written in another order.

use std::ops::Range;

use super::Uncommon;
use crate::canonical::json_buffer::JsonBuffer;
use crate::canonical::unescaped_text::plain_prefix_len;

/// The key of a member; `member` begins with the brace or comma before it.
fn member_key(member: &[u8]) -> Option<&[u8]> {
    let key = member.get(2..)?;
    key.get(..end_of_text(key)?)
}

/// Sorts the members of the object that begins at `start` and lacks only its closing brace. Most
/// types declare their fields in canonical order and never reach this function.
#[cold]
#[inline(never)]
pub(super) fn sort_members(bytes: &mut JsonBuffer, start: usize) -> Result<(), Uncommon> {
    let object = bytes.get(start..).ok_or(Uncommon)?;
    let mut members: Vec<_> = member_ranges(object)
        .ok_or(Uncommon)?
        .into_iter()
        .map(|member| (member_key(object.get(member.clone()).unwrap_or_default()), member))
        .collect();
    // For plain keys, byte order equals the order of UTF-16 code units.
    members.sort_unstable_by_key(|(key, _)| *key);
    if members.windows(2).any(|pair| matches!(pair, [(a, _), (b, _)] if a == b)) {
        return Err(Uncommon);
    }
    let parts: Vec<_> =
        members.into_iter().map(|(_, at)| start + at.start + 1..start + at.end).collect();
    bytes.reorder_members(start, parts.into_iter()).ok_or(Uncommon)
}

/// The ranges of an object's members, each with the brace or comma before it.
fn member_ranges(object: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut members = Vec::with_capacity(16);
    let (mut depth, mut start, mut at) = (0_usize, 0, 0);
    while let Some(byte) = object.get(at) {
        at += 1;
        match byte {
            b'"' => at += end_of_text(object.get(at..)?)? + 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b',' if depth == 1 => {
                members.push(start..at - 1);
                start = at - 1;
            }
            _ => {}
        }
    }
    members.push(start..at);
    Some(members)
}

/// The position of the quote that ends a string.
fn end_of_text(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += match text.get(at..)? {
            [b'"', ..] => return Some(at),
            [b'\\', ..] => 2,
            rest => rest.first_chunk().map_or(1, |word| plain_prefix_len(*word).max(1)),
        };
    }
}
