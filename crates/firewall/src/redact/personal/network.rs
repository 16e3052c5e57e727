//! Network addresses: IPv4, IPv6, hardware addresses.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use super::cluster::{Token, before, byte};
use super::context::{Context, ContextReader, topic};
use super::reserved;

/// The longest run of an address, in bytes.
const LONGEST: usize = 48;

/// What follows the `+` after a version.
const BUILDS: [&[u8]; 5] = [b"build", b"git", b"deb", b"dfsg", b"ubuntu"];

/// An address with colons, and which.
pub(super) enum Address {
    V6(Range<usize>),
    Mac(Range<usize>),
}

/// The four numbers of an IPv4 address from a place on, and its end.
fn octets(bytes: &[u8], start: usize) -> Option<([u32; 4], usize)> {
    let mut values = [0_u32; 4];
    let mut at = start;
    for (place, value) in values.iter_mut().enumerate() {
        if place > 0 {
            if byte(bytes, at) != b'.' {
                return None;
            }
            at += 1;
        }
        let first = at;
        while byte(bytes, at).is_ascii_digit() && at - first < 4 {
            *value = *value * 10 + u32::from(byte(bytes, at) - b'0');
            at += 1;
        }
        if at == first || at - first > 3 || *value > 255 {
            return None;
        }
    }
    Some((values, at))
}

/// The end of the address or mask of nobody's that starts with this token. None of its numbers is
/// anything else.
pub(super) fn reserved_v4_end(bytes: &[u8], token: Token) -> Option<usize> {
    if !token.digits || token.end - token.start > 3 || byte(bytes, token.end) != b'.' {
        return None;
    }
    let (values, end) = octets(bytes, token.start)?;
    let (left, right) = (before(bytes, token.start), byte(bytes, end));
    let inside = matches!(left, b'.' | b'-') && before(bytes, token.start - 1).is_ascii_digit();
    let longer = matches!(right, b'.' | b'-') && byte(bytes, end + 1).is_ascii_digit();
    if inside || longer || right.is_ascii_alphanumeric() || right == b'_' {
        return None;
    }
    let address = address(values);
    let is_whole = prefix(bytes, end, 32) == end;
    // A multicast group, `235.97.57.12`, may still be a phone number.
    let is_nobodys = reserved::is_reserved_v4(address) && !address.is_multicast()
        || is_whole && reserved::is_mask(address);
    (is_nobodys || left == b':' && ends_reserved_v6(bytes, token.start, end)).then_some(end)
}

fn address(octets: [u32; 4]) -> Ipv4Addr {
    Ipv4Addr::from_bits(octets.iter().fold(0, |bits, octet| bits << 8 | octet))
}

/// True when the IPv4 address here is the end of an IPv6 address that is reserved as a whole.
fn ends_reserved_v6(bytes: &[u8], start: usize, end: usize) -> bool {
    let floor = end.saturating_sub(LONGEST);
    let mut from = start;
    while from > floor && in_run(before(bytes, from)) {
        from -= 1;
    }
    let left = before(bytes, from);
    let whole = !left.is_ascii_alphanumeric() && left != b'_';
    whole && bytes.get(from..end).is_some_and(is_reserved_v6)
}

/// True for the text of a reserved IPv6 address.
fn is_reserved_v6(run: &[u8]) -> bool {
    v6(run).is_some_and(reserved::is_reserved_v6)
}

/// The IPv6 address that this is the text of.
fn v6(run: &[u8]) -> Option<Ipv6Addr> {
    std::str::from_utf8(run).ok()?.parse().ok()
}

/// The IPv4 address that starts with this token.
pub(super) fn v4(near: &ContextReader<'_>, token: Token) -> Option<Range<usize>> {
    let bytes = near.bytes;
    let start = token.start;
    if !token.digits || token.end - start > 3 || byte(bytes, token.end) != b'.' {
        return None;
    }
    let (values, end) = octets(bytes, start)?;
    let left = before(bytes, start);
    let further = before(bytes, start.saturating_sub(1));
    let glued = match left {
        b'.' => further.is_ascii_alphanumeric(),
        b'-' => further.is_ascii_alphabetic(),
        b'/' => further.is_ascii_alphanumeric() && byte(bytes, end) != b':',
        b'=' => further == b'=',
        b'_' | b'^' | b'~' | b'$' => true,
        _ => false,
    };
    let right = byte(bytes, end);
    let longer = right == b'.' && byte(bytes, end + 1).is_ascii_alphanumeric();
    let local = matches!(values, [192, 168, ..] | [10, ..] | [127, ..]);
    let dashed = right == b'-' && byte(bytes, end + 1).is_ascii_alphabetic();
    if glued || right.is_ascii_alphanumeric() || right == b'_' || longer && !local || dashed {
        return None;
    }
    if reserved::is_reserved_v4(address(values)) {
        return None;
    }
    let with_prefix = prefix(bytes, end, 32);
    let plain = with_prefix == end && right != b':' && right != b'/';
    if plain && (is_numbered(bytes, start, end) || is_version(near, values, start, end)) {
        return None;
    }
    Some(start..with_prefix)
}

/// True for a version by the signs around it: `v. 10.0.0.5`, `10.0.0.5+build7`.
fn is_numbered(bytes: &[u8], start: usize, end: usize) -> bool {
    let blank = usize::from(start > 0 && before(bytes, start) == b' ');
    let point = usize::from(before(bytes, start - blank) == b'.');
    let letter = start - blank - point;
    let marked = blank + point > 0
        && matches!(before(bytes, letter), b'v' | b'V')
        && !before(bytes, letter - 1).is_ascii_alphanumeric();
    let built = byte(bytes, end) == b'+'
        && BUILDS.iter().any(|word| bytes.get(end + 1..end + 1 + word.len()) == Some(*word));
    marked || built
}

/// True when four small numbers, a comparison, or the words before speak of a version.
fn is_version(near: &ContextReader<'_>, values: [u32; 4], start: usize, end: usize) -> bool {
    let bytes = near.bytes;
    let [first, second, third, _] = values;
    let same = values.iter().all(|value| *value == first);
    let few = (1..=30).contains(&first) && second <= 40 && third <= 100 && !same;
    // Browsers give no more than their first number, `126.0.0.0`; a host's address ends otherwise.
    let only_major = first > 0 && matches!(values, [_, 0, 0, 0]);
    let compared =
        before(bytes, start) == b'=' && matches!(before(bytes, start - 1), b'<' | b'>' | b'~');
    let small = first != 10 && (few || only_major) || compared;
    let clear = matches!(values, [192, 168, ..] | [127, ..] | [255, 255, ..]);
    if clear {
        return false;
    }
    let context = Context::around(near, start, end);
    let from = topic::ORIGIN;
    let version = context.near & topic::VERSION != 0 && context.last & topic::IP == 0;
    // `bump x from 1.12.44.8`, `install x from 81.12.44.3`.
    version && (small || context.last & from == 0)
        || small && context.near & (topic::IP | from) == 0
}

/// The end of `/24` after an address, or the end of the address.
fn prefix(bytes: &[u8], end: usize, most: u32) -> usize {
    if byte(bytes, end) != b'/' {
        return end;
    }
    let mut at = end + 1;
    let mut value = 0;
    while byte(bytes, at).is_ascii_digit() && at - end <= 3 {
        value = value * 10 + u32::from(byte(bytes, at) - b'0');
        at += 1;
    }
    let ends = !byte(bytes, at).is_ascii_alphanumeric() && byte(bytes, at) != b'_';
    if at > end + 1 && value <= most && ends { at } else { end }
}

/// The address whose first colon stands here.
pub(super) fn colons(near: &ContextReader<'_>, colon: usize) -> Option<Address> {
    let bytes = near.bytes;
    let next = byte(bytes, colon + 1);
    if next != b':' && !next.is_ascii_hexdigit() {
        return None;
    }
    let mut start = colon;
    while colon - start <= 4 && before(bytes, start).is_ascii_hexdigit() {
        start -= 1;
    }
    let left = before(bytes, start);
    let further = before(bytes, start.saturating_sub(1));
    let later = left == b':' && (further == b':' || further.is_ascii_hexdigit());
    if later || left.is_ascii_alphanumeric() || left == b'_' || start == colon && next != b':' {
        return None;
    }
    let mut end = colon;
    while end - start <= LONGEST && in_run(byte(bytes, end)) {
        end += 1;
    }
    while end > colon + 2 && (before(bytes, end) == b'.' || lone_colon(bytes, end)) {
        end -= 1;
    }
    let right = byte(bytes, end);
    if end - start > LONGEST || right.is_ascii_alphanumeric() || right == b'_' {
        return None;
    }
    let run = bytes.get(start..end)?;
    if is_mac(run, b':') {
        return Some(Address::Mac(start..end));
    }
    let address = v6(run)?;
    if is_pairs(run) || reserved::is_reserved_v6(address) || is_bare(near, run, start, end) {
        return None;
    }
    Some(Address::V6(start..prefix(bytes, zone(bytes, end), 128)))
}

fn in_run(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || byte == b':' || byte == b'.'
}

fn lone_colon(bytes: &[u8], end: usize) -> bool {
    before(bytes, end) == b':' && before(bytes, end - 1) != b':'
}

/// The end of `%eth0` after an address, or the end of the address.
fn zone(bytes: &[u8], end: usize) -> usize {
    if byte(bytes, end) != b'%' {
        return end;
    }
    let name = bytes.get(end + 1..).unwrap_or_default().iter();
    let length = name.take(16).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    if length > 0 { end + 1 + length } else { end }
}

/// True for a short form that code has too, like `ab::`, without words or a length that say more.
fn is_bare(near: &ContextReader<'_>, run: &[u8], start: usize, end: usize) -> bool {
    let bytes = near.bytes;
    let digits = run.iter().filter(|byte| byte.is_ascii_hexdigit()).count();
    let numeric = run.iter().any(u8::is_ascii_digit);
    if digits >= 4 && numeric {
        return false;
    }
    let context = Context::around(near, start, end);
    let clear = |byte: u8| matches!(byte, b' ' | b'"' | b'\'' | b'=' | b'(' | b')' | b',');
    let apart = clear(before(bytes, start)) && clear(byte(bytes, end)) && numeric;
    let spoken = context.near & (topic::IP | topic::ORIGIN) != 0 && apart;
    prefix(bytes, end, 128) == end && !spoken
}

/// Eight pairs of digits: a fingerprint or the serial number of a certificate. Addresses leave out
/// the zeros at the start of a group, and have some longer ones.
fn is_pairs(run: &[u8]) -> bool {
    run.split(|byte| *byte == b':').all(|group| group.len() == 2)
}

/// Six pairs with the same sign between them, neither all zero nor all ones.
fn is_mac(run: &[u8], sign: u8) -> bool {
    run.len() == 17
        && run.iter().enumerate().all(|(place, byte)| {
            if place % 3 == 2 { *byte == sign } else { byte.is_ascii_hexdigit() }
        })
        && !run.iter().all(|byte| matches!(byte, b'0') || *byte == sign)
        && !run.iter().all(|byte| matches!(byte, b'f' | b'F') || *byte == sign)
}

/// The hardware address with hyphens, or in three groups of four, that this token is a part of.
pub(super) fn mac(near: &ContextReader<'_>, token: Token) -> Option<Range<usize>> {
    let bytes = near.bytes;
    let length = token.end - token.start;
    let (sign, size, most) = match (length, byte(bytes, token.end), before(bytes, token.start)) {
        (2, b'-', _) | (2, _, b'-') => (b'-', 2, 6),
        (4, b'.', _) | (4, _, b'.') => (b'.', 4, 3),
        _ => return None,
    };
    // Seen at the first token with a digit; in a date that is another.
    if most == 6 && before(bytes, token.start) == sign {
        let pair = bytes.get(token.start.saturating_sub(3)..token.start - 1);
        if !pair.is_some_and(|pair| pair.iter().all(u8::is_ascii_alphabetic)) {
            return None;
        }
    }
    let hex = |from: usize, to: usize| {
        let group = bytes.get(from..to).unwrap_or_default();
        group.len() == size && group.iter().all(u8::is_ascii_hexdigit)
    };
    let mut start = token.start;
    let mut groups = 1;
    while groups < most
        && before(bytes, start) == sign
        && start.checked_sub(size + 1).is_some_and(|from| hex(from, start - 1))
    {
        start -= size + 1;
        groups += 1;
    }
    let end = start + most * (size + 1) - 1;
    let run = bytes.get(start..end)?;
    let grouped = run.iter().enumerate().all(|(place, byte)| {
        if place % (size + 1) == size { *byte == sign } else { byte.is_ascii_hexdigit() }
    });
    let open = |byte: u8| !byte.is_ascii_alphanumeric() && byte != sign && byte != b'_';
    let lettered = run.iter().any(u8::is_ascii_alphabetic);
    let bounded = open(before(bytes, start)) && open(byte(bytes, end)) || byte(bytes, end) == b'.';
    if !grouped || !bounded {
        return None;
    }
    let named = || Context::around(near, start, end).near & topic::MAC != 0;
    (lettered || named()).then_some(start..end)
}

#[cfg(test)]
mod tests;
