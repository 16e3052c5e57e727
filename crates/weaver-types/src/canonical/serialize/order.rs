//! The order of members.

use std::ops::Range;

use super::Stop;
use crate::canonical::buffer::Buffer;
use crate::canonical::unescaped_text::plain_bytes;

/// The key of a member that begins with the brace or the comma before it, where it is a plain text.
fn key_of(member: &[u8]) -> Option<&[u8]> {
    let key = member.get(2..)?;
    key.get(..end_of_text(key)?)
}

/// Brings the members of an object, which begins at `start` and is all but closed, into the order
/// of their keys. What is written often has its fields declared in that order and never comes here.
#[cold]
#[inline(never)]
pub(super) fn arrange(bytes: &mut Buffer, start: usize) -> Result<(), Stop> {
    let object = bytes.get(start..).ok_or(Stop)?;
    let mut members: Vec<_> = members(object)
        .ok_or(Stop)?
        .into_iter()
        .map(|member| (key_of(object.get(member.clone()).unwrap_or_default()), member))
        .collect();
    // Of plain keys, the order by bytes is the one by UTF-16 units.
    members.sort_unstable_by_key(|(key, _)| *key);
    if members.windows(2).any(|pair| matches!(pair, [(a, _), (b, _)] if a == b)) {
        return Err(Stop);
    }
    let parts: Vec<_> =
        members.into_iter().map(|(_, at)| start + at.start + 1..start + at.end).collect();
    bytes.reorder(start, parts.into_iter()).ok_or(Stop)
}

/// Where the members of an object stand, each with the brace or the comma before it.
fn members(object: &[u8]) -> Option<Vec<Range<usize>>> {
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

/// The place of the quote that ends a text.
fn end_of_text(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += match text.get(at..)? {
            [b'"', ..] => return Some(at),
            [b'\\', ..] => 2,
            rest => rest.first_chunk().map_or(1, |word| plain_bytes(*word).max(1)),
        };
    }
}
