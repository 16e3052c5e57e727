//! Network addresses: IPv4, IPv6 and hardware addresses.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use super::candidate::{Token, byte_at, byte_before};
use super::context::{ContextReader, TopicContext, topic};
use super::reserved;

/// The longest address, in bytes.
const MAX_ADDRESS_BYTES: usize = 48;

/// Words after the `+` of a version.
const BUILD_TAGS: [&[u8]; 5] = [b"build", b"git", b"deb", b"dfsg", b"ubuntu"];

/// An address with colons.
pub(super) enum ColonAddress {
    V6(Range<usize>),
    Mac(Range<usize>),
}

/// The four numbers of an IPv4 address at a position, and its end.
fn parse_octets(bytes: &[u8], start: usize) -> Option<([u32; 4], usize)> {
    let mut values = [0_u32; 4];
    let mut at = start;
    for (place, value) in values.iter_mut().enumerate() {
        if place > 0 {
            if byte_at(bytes, at) != b'.' {
                return None;
            }
            at += 1;
        }
        let first = at;
        while byte_at(bytes, at).is_ascii_digit() && at - first < 4 {
            *value = *value * 10 + u32::from(byte_at(bytes, at) - b'0');
            at += 1;
        }
        if at == first || at - first > 3 || *value > 255 {
            return None;
        }
    }
    Some((values, at))
}

/// The end of a reserved address or mask that begins with this token. None of its numbers is
/// anything else.
pub(super) fn reserved_v4_end(bytes: &[u8], token: Token) -> Option<usize> {
    if !token.is_numeric || token.end - token.start > 3 || byte_at(bytes, token.end) != b'.' {
        return None;
    }
    let (values, end) = parse_octets(bytes, token.start)?;
    let (left, right) = (byte_before(bytes, token.start), byte_at(bytes, end));
    let inside =
        matches!(left, b'.' | b'-') && byte_before(bytes, token.start - 1).is_ascii_digit();
    let longer = matches!(right, b'.' | b'-') && byte_at(bytes, end + 1).is_ascii_digit();
    if inside || longer || right.is_ascii_alphanumeric() || right == b'_' {
        return None;
    }
    let address = address(values);
    let is_whole = prefix_end(bytes, end, 32) == end;
    // A multicast address such as `235.97.57.12` may still be a phone number.
    let is_nobodys = reserved::is_reserved_v4(address) && !address.is_multicast()
        || is_whole && reserved::is_mask(address);
    (is_nobodys || left == b':' && ends_reserved_v6(bytes, token.start, end)).then_some(end)
}

fn address(octets: [u32; 4]) -> Ipv4Addr {
    Ipv4Addr::from_bits(octets.iter().fold(0, |bits, octet| bits << 8 | octet))
}

/// True if the IPv4 address here is the end of a reserved IPv6 address.
fn ends_reserved_v6(bytes: &[u8], start: usize, end: usize) -> bool {
    let floor = end.saturating_sub(MAX_ADDRESS_BYTES);
    let mut from = start;
    while from > floor && in_run(byte_before(bytes, from)) {
        from -= 1;
    }
    let left = byte_before(bytes, from);
    let whole = !left.is_ascii_alphanumeric() && left != b'_';
    whole && bytes.get(from..end).is_some_and(is_reserved_v6)
}

/// True for the text of a reserved IPv6 address.
fn is_reserved_v6(run: &[u8]) -> bool {
    parse_ipv6(run).is_some_and(reserved::is_reserved_v6)
}

/// Parses an IPv6 address.
fn parse_ipv6(run: &[u8]) -> Option<Ipv6Addr> {
    std::str::from_utf8(run).ok()?.parse().ok()
}

/// The IPv4 address that begins with this token.
pub(super) fn ipv4_at(reader: &ContextReader<'_>, token: Token) -> Option<Range<usize>> {
    let bytes = reader.bytes;
    let start = token.start;
    if !token.is_numeric || token.end - start > 3 || byte_at(bytes, token.end) != b'.' {
        return None;
    }
    let (values, end) = parse_octets(bytes, start)?;
    let left = byte_before(bytes, start);
    let further = byte_before(bytes, start.saturating_sub(1));
    let glued = match left {
        b'.' => further.is_ascii_alphanumeric(),
        b'-' => further.is_ascii_alphabetic(),
        b'/' => further.is_ascii_alphanumeric() && byte_at(bytes, end) != b':',
        b'=' => further == b'=',
        b'_' | b'^' | b'~' | b'$' => true,
        _ => false,
    };
    let right = byte_at(bytes, end);
    let longer = right == b'.' && byte_at(bytes, end + 1).is_ascii_alphanumeric();
    let local = matches!(values, [192, 168, ..] | [10, ..] | [127, ..]);
    let dashed = right == b'-' && byte_at(bytes, end + 1).is_ascii_alphabetic();
    if glued || right.is_ascii_alphanumeric() || right == b'_' || longer && !local || dashed {
        return None;
    }
    if reserved::is_reserved_v4(address(values)) {
        return None;
    }
    let with_prefix = prefix_end(bytes, end, 32);
    let plain = with_prefix == end && right != b':' && right != b'/';
    if values.last() == Some(&0) && is_before_mask(bytes, end) {
        return None;
    }
    if plain && (is_numbered(bytes, start, end) || is_version(reader, values, start, end)) {
        return None;
    }
    Some(start..with_prefix)
}

/// True for a network, whose mask follows: `10.4.12.0 255.255.252.0`.
fn is_before_mask(bytes: &[u8], end: usize) -> bool {
    let behind = bytes.get(end..).unwrap_or_default();
    [&b" 255."[..], b" mask 255.", b" netmask 255.", b"/255."]
        .iter()
        .any(|mask| behind.starts_with(mask))
}

/// True for a version, judging by the characters around it: `v. 10.0.0.5`, `10.0.0.5+build7`.
fn is_numbered(bytes: &[u8], start: usize, end: usize) -> bool {
    let blank = usize::from(start > 0 && byte_before(bytes, start) == b' ');
    let point = usize::from(byte_before(bytes, start - blank) == b'.');
    let letter = start - blank - point;
    let marked = blank + point > 0
        && matches!(byte_before(bytes, letter), b'v' | b'V')
        && !byte_before(bytes, letter - 1).is_ascii_alphanumeric();
    let built = byte_at(bytes, end) == b'+'
        && BUILD_TAGS.iter().any(|word| bytes.get(end + 1..end + 1 + word.len()) == Some(*word));
    marked || built
}

/// True for a version: four small numbers, a comparison, or words about versions before it.
fn is_version(reader: &ContextReader<'_>, values: [u32; 4], start: usize, end: usize) -> bool {
    let bytes = reader.bytes;
    let [first, second, third, _] = values;
    let same = values.iter().all(|value| *value == first);
    let few = (1..=30).contains(&first) && second <= 40 && third <= 100 && !same;
    // Browsers report only their major version, as in `126.0.0.0`; host addresses rarely end in
    // zeros.
    let only_major = first > 0 && matches!(values, [_, 0, 0, 0]);
    let compared = is_compared(bytes, start);
    let small = first != 10 && (few || only_major) || compared;
    let clear = matches!(values, [192, 168, ..] | [127, ..] | [255, 255, ..]);
    if clear {
        return false;
    }
    let context = TopicContext::around(reader, start, end);
    let from = topic::ORIGIN;
    let version = context.right_before & topic::VERSION != 0
        && context.last_label & topic::IP == 0
        && (small || context.is_adjacent || is_behind_arrow(bytes, start))
        || small && context.right_after & topic::VERSION != 0;
    // `bump x from 1.12.44.8`, `install x from 81.12.44.3`.
    version && (small || context.last_label & from == 0)
        || small && context.right_before & (topic::IP | from) == 0
        || few && first != 10 && is_behind_compound_name(bytes, start)
}

/// True for the second of two versions: `firmware 4.44.17.220 -> 4.44.18.3`.
fn is_behind_arrow(bytes: &[u8], start: usize) -> bool {
    bytes.get(start.saturating_sub(3)..start) == Some(b"-> ")
}

/// True behind a comparison of versions: `tool>=101.2.3.4`, `libx (>= 0.99.7.1)`.
fn is_compared(bytes: &[u8], start: usize) -> bool {
    let blank = usize::from(byte_before(bytes, start) == b' ');
    let sign = start.saturating_sub(blank);
    // A package may need exactly one: `libx (= 18.9.2.7-1)`.
    let left = byte_before(bytes, sign.saturating_sub(1));
    byte_before(bytes, sign) == b'='
        && (matches!(left, b'<' | b'>' | b'~') || left == b'(' && blank > 0)
}

/// True behind a blank and a name of several words, which is a product's and not the label of an
/// address, although it ends in a word for one: `Microsoft.Data.SqlClient 5.2.2.0`, `lwIP 2.2.0.1`.
fn is_behind_compound_name(bytes: &[u8], start: usize) -> bool {
    let run = bytes.get(start.saturating_sub(40)..start).unwrap_or_default();
    let Some(run) = run.strip_suffix(b" ") else { return false };
    let len = run.iter().rev().take_while(|b| b.is_ascii_alphanumeric() || **b == b'.').count();
    let name = run.get(run.len() - len..).unwrap_or_default();
    name.windows(2).any(|pair| {
        matches!(pair, [left, right] if left.is_ascii_lowercase() && right.is_ascii_uppercase())
    })
}

/// The end of a prefix length such as `/24` after an address, or the end of the address.
fn prefix_end(bytes: &[u8], end: usize, most: u32) -> usize {
    if byte_at(bytes, end) != b'/' {
        return end;
    }
    let mut at = end + 1;
    let mut value = 0;
    while byte_at(bytes, at).is_ascii_digit() && at - end <= 3 {
        value = value * 10 + u32::from(byte_at(bytes, at) - b'0');
        at += 1;
    }
    let ends = !byte_at(bytes, at).is_ascii_alphanumeric() && byte_at(bytes, at) != b'_';
    if at > end + 1 && value <= most && ends { at } else { end }
}

/// The address whose first colon is here.
pub(super) fn address_at_colon(reader: &ContextReader<'_>, colon: usize) -> Option<ColonAddress> {
    let bytes = reader.bytes;
    let next = byte_at(bytes, colon + 1);
    if next != b':' && !next.is_ascii_hexdigit() {
        return None;
    }
    let mut start = colon;
    while colon - start <= 4 && byte_before(bytes, start).is_ascii_hexdigit() {
        start -= 1;
    }
    let left = byte_before(bytes, start);
    let further = byte_before(bytes, start.saturating_sub(1));
    let later = left == b':' && (further == b':' || further.is_ascii_hexdigit());
    if later || left.is_ascii_alphanumeric() || left == b'_' || start == colon && next != b':' {
        return None;
    }
    let mut end = colon;
    while end - start <= MAX_ADDRESS_BYTES && in_run(byte_at(bytes, end)) {
        end += 1;
    }
    while end > colon + 2 && (byte_before(bytes, end) == b'.' || lone_colon(bytes, end)) {
        end -= 1;
    }
    let right = byte_at(bytes, end);
    if end - start > MAX_ADDRESS_BYTES || right.is_ascii_alphanumeric() || right == b'_' {
        return None;
    }
    let run = bytes.get(start..end)?;
    // Two numbers and an empty field before a path: `messagebus:x:100:102::/nonexistent`.
    if run.ends_with(b"::") && right == b'/' && !byte_at(bytes, end + 1).is_ascii_digit() {
        return None;
    }
    if is_mac(run, b':') {
        return Some(ColonAddress::Mac(start..end));
    }
    let address = parse_ipv6(run)?;
    if is_hex_pairs(run)
        || reserved::is_reserved_v6(address)
        || is_ambiguous_short_form(reader, run, start, end)
    {
        return None;
    }
    Some(ColonAddress::V6(start..prefix_end(bytes, zone_end(bytes, end), 128)))
}

fn in_run(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || byte == b':' || byte == b'.'
}

fn lone_colon(bytes: &[u8], end: usize) -> bool {
    byte_before(bytes, end) == b':' && byte_before(bytes, end - 1) != b':'
}

/// The end of a zone such as `%eth0` after an address, or the end of the address.
fn zone_end(bytes: &[u8], end: usize) -> usize {
    if byte_at(bytes, end) != b'%' {
        return end;
    }
    let name = bytes.get(end + 1..).unwrap_or_default().iter();
    let length = name.take(16).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    if length > 0 { end + 1 + length } else { end }
}

/// True for a short form that also occurs in program text, like `ab::`, without further evidence.
fn is_ambiguous_short_form(
    reader: &ContextReader<'_>,
    run: &[u8],
    start: usize,
    end: usize,
) -> bool {
    let bytes = reader.bytes;
    let digits = run.iter().filter(|byte| byte.is_ascii_hexdigit()).count();
    let numeric = run.iter().any(u8::is_ascii_digit);
    // `f128::` is a module.
    let is_one_group = run.iter().position(|byte| *byte == b':') == Some(run.len() - 2);
    if digits >= 4 && numeric && !is_one_group {
        return false;
    }
    let context = TopicContext::around(reader, start, end);
    let clear = |byte: u8| matches!(byte, b' ' | b'"' | b'\'' | b'=' | b'(' | b')' | b',');
    let is_set_apart = clear(byte_before(bytes, start)) && clear(byte_at(bytes, end)) && numeric;
    let spoken = context.right_before & (topic::IP | topic::ORIGIN) != 0 && is_set_apart;
    prefix_end(bytes, end, 128) == end && !spoken
}

/// Eight pairs of hexadecimal digits are a fingerprint or a certificate's serial number. IPv6
/// addresses omit leading zeros and have longer groups.
fn is_hex_pairs(run: &[u8]) -> bool {
    run.split(|byte| *byte == b':').all(|group| group.len() == 2)
}

/// Six pairs with the same separator, neither all zeros nor all ones.
fn is_mac(run: &[u8], sign: u8) -> bool {
    run.len() == 17
        && run.iter().enumerate().all(|(place, byte)| {
            if place % 3 == 2 { *byte == sign } else { byte.is_ascii_hexdigit() }
        })
        && !run.iter().all(|byte| matches!(byte, b'0') || *byte == sign)
        && !run.iter().all(|byte| matches!(byte, b'f' | b'F') || *byte == sign)
}

/// The hardware address, with hyphens or in three groups of four, that contains this token.
pub(super) fn mac_at(reader: &ContextReader<'_>, token: Token) -> Option<Range<usize>> {
    let bytes = reader.bytes;
    let length = token.end - token.start;
    let (sign, size, most) =
        match (length, byte_at(bytes, token.end), byte_before(bytes, token.start)) {
            (2, b'-', _) | (2, _, b'-') => (b'-', 2, 6),
            (4, b'.', _) | (4, _, b'.') => (b'.', 4, 3),
            _ => return None,
        };
    // An address is detected at its first token with a digit; in a date that is another token.
    if most == 6 && byte_before(bytes, token.start) == sign {
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
        && byte_before(bytes, start) == sign
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
    let bounded =
        open(byte_before(bytes, start)) && open(byte_at(bytes, end)) || byte_at(bytes, end) == b'.';
    // Weights of a collation: `[.417B.0021.0002.4FAE]`.
    let is_weight =
        byte_before(bytes, start) == b'.' && !byte_before(bytes, start - 1).is_ascii_alphanumeric();
    if !grouped || !bounded || is_weight {
        return None;
    }
    let named = || TopicContext::around(reader, start, end).right_before & topic::MAC != 0;
    (lettered || named()).then_some(start..end)
}

#[cfg(test)]
mod tests;
