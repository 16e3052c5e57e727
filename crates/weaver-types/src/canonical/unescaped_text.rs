//! Finds and copies the part of a string that needs no escapes in JSON, several bytes at a time.

/// Bytes that are examined together; compiles to vector code.
const BLOCK: usize = 16;
/// The byte 1 in each of eight bytes.
const ONES: u64 = u64::from_ne_bytes([1; 8]);
/// The highest bit of each of eight bytes.
const HIGH_BITS: u64 = ONES << 7;
const SPACES: u64 = ONES * 0x20;

/// True for a byte that needs an escape in a JSON string.
pub(super) fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// True when a byte of the block matches. Without a branch per byte, so that it vectorises.
#[inline(always)]
fn any_byte<const N: usize>(block: &[u8; N], matches: impl Fn(u8) -> bool) -> bool {
    block.iter().fold(false, |any, byte| any | matches(*byte))
}

/// True when a byte of the text matches. The last block overlaps the one before it, so that the end
/// needs no loop.
fn any_byte_in(text: &[u8], matches: impl Fn(u8) -> bool + Copy) -> bool {
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    if blocks.iter().any(|block| any_byte(block, matches)) {
        return true;
    }
    match (rest.len(), text.last_chunk::<BLOCK>()) {
        (0, _) => false,
        (_, Some(last)) => any_byte(last, matches),
        (_, None) => rest.iter().any(|byte| matches(*byte)),
    }
}

/// True when a name needs no escapes and has only characters for which byte order equals UTF-16
/// order.
#[inline(never)]
pub(super) fn is_plain_name(name: &[u8]) -> bool {
    !any_byte_in(name, |byte| is_special(byte) | (byte >= 0xf0))
}

/// The first eight bytes of a text as a number, padded with zeros. Of two texts without a zero
/// byte, the one with the lower number sorts first.
pub(super) fn sort_prefix(text: &[u8]) -> u64 {
    text.iter().take(8).rfold(0, |sum, byte| sum >> 8 | u64::from(*byte) << 56)
}

/// Copies a text into a slice of its length and returns its [`sort_prefix`], if every byte is ASCII
/// that needs no escape. `None` means that the text needs a closer look.
#[inline(always)]
pub(super) fn copy_plain_ascii(text: &[u8], target: &mut [u8]) -> Option<u64> {
    let length = text.len();
    let (first, last) = match length {
        16.. => return copy_blocks(text, target),
        8.. => {
            let (first, last) = copy_ends(text, target)?;
            let (first, last) = (u64::from_be_bytes(first), u64::from_be_bytes(last));
            return (non_plain_bits(first) | non_plain_bits(last) == 0).then_some(first);
        }
        4.. => {
            let (first, last) = copy_ends(text, target)?;
            (u64::from(u32::from_be_bytes(first)) << 32, u64::from(u32::from_be_bytes(last)))
        }
        2.. => {
            let (first, last) = copy_ends(text, target)?;
            (u64::from(u16::from_be_bytes(first)) << 48, u64::from(u16::from_be_bytes(last)))
        }
        1 => {
            let ([first], [last]) = copy_ends(text, target)?;
            (u64::from(first) << 56, u64::from(last))
        }
        0 => return Some(0),
    };
    let sort_prefix = first | last << (64 - 8 * length);
    // Past the end of the text, spaces stand in for its bytes.
    (non_plain_bits(sort_prefix | SPACES >> (8 * length)) == 0).then_some(sort_prefix)
}

/// Copies the first and the last `N` bytes of a text; the two may overlap.
fn copy_ends<const N: usize>(text: &[u8], target: &mut [u8]) -> Option<([u8; N], [u8; N])> {
    let (first, last) = (*text.first_chunk()?, *text.last_chunk()?);
    *target.first_chunk_mut()? = first;
    *target.last_chunk_mut()? = last;
    Some((first, last))
}

#[inline(always)]
fn copy_blocks(text: &[u8], target: &mut [u8]) -> Option<u64> {
    let (blocks, places) = (text.as_chunks().0, target.as_chunks_mut().0);
    for (block, target) in blocks.iter().zip(places) {
        *target = *block;
        if has_non_plain(block) {
            return None;
        }
    }
    let last = text.last_chunk()?;
    *target.last_chunk_mut()? = *last;
    (!has_non_plain(last)).then_some(u64::from_be_bytes(*text.first_chunk()?))
}

/// True when a byte is not ASCII or needs an escape. One signed comparison catches both the control
/// characters and the bytes from 0x80 on.
#[inline(always)]
fn has_non_plain(block: &[u8; BLOCK]) -> bool {
    any_byte(block, |byte| byte.cast_signed() < 0x20)
        | any_byte(block, |byte| byte == b'"')
        | any_byte(block, |byte| byte == b'\\')
}

/// How many bytes of the word precede the first one that needs an escape.
pub(super) fn plain_prefix_len(word: [u8; 8]) -> usize {
    let word = u64::from_le_bytes(word);
    (special_bits(word) & !word & HIGH_BITS).trailing_zeros() as usize / 8
}

/// Zero exactly when all eight bytes are ASCII that needs no escape.
fn non_plain_bits(word: u64) -> u64 {
    (special_bits(word) | word) & HIGH_BITS
}

/// Sets the highest bit of each ASCII byte that needs an escape, and possibly of a byte above one
/// that does (SWAR; the borrow is harmless since only the lowest set bit is used).
fn special_bits(word: u64) -> u64 {
    // A subtraction sets the highest bit of a byte that is too small, and borrows from the next
    // byte.
    word.wrapping_sub(SPACES)
        | (word ^ (ONES * u64::from(b'"'))).wrapping_sub(ONES)
        | (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES)
}

#[cfg(test)]
mod tests {
    use super::{
        any_byte_in, copy_plain_ascii, is_plain_name, is_special, plain_prefix_len, sort_prefix,
    };

    #[test]
    fn a_byte_that_needs_an_escape_is_seen_wherever_it_stands() {
        for length in 0..40 {
            for index in 0..length {
                let mut text = vec![b'a'; length];
                for byte in 0..=255_u8 {
                    text[index] = byte;
                    let special = matches!(byte, b'"' | b'\\' | 0..=0x1f);
                    assert_eq!(any_byte_in(&text, is_special), special, "{byte} at {index}");
                    let plain = !special && byte < 0xf0;
                    assert_eq!(is_plain_name(&text), plain, "{byte} at {index} of {length}");
                }
            }
        }
        assert!(!any_byte_in(b"", is_special));
    }

    #[test]
    fn a_text_is_copied_and_what_does_not_stand_for_itself_is_seen() {
        for length in 0..40 {
            for byte in 0..=255_u8 {
                for index in 0..length {
                    let mut text = vec![b'!'; length];
                    text[index] = byte;
                    let mut copied = vec![0; length];
                    let plain = byte.is_ascii() && !is_special(byte);
                    let wanted = plain.then(|| sort_prefix(&text));
                    assert_eq!(
                        copy_plain_ascii(&text, &mut copied),
                        wanted,
                        "{byte} at {index} of {length}"
                    );
                    assert!(!plain || copied == text, "{byte} at {index} of {length}");
                }
            }
        }
        assert_eq!(copy_plain_ascii(b"", &mut []), Some(0));
    }

    #[test]
    fn heads_stand_in_the_order_of_their_texts() {
        let texts = ["", " ", "!", "a", "a!", "aaaaaaa", "aaaaaaaa", "aaaaaaab", "ab", "\u{e9}"];
        assert!(texts.map(|text| sort_prefix(text.as_bytes())).is_sorted_by(|a, b| a < b));
        assert_eq!(sort_prefix(b"aaaaaaaab"), sort_prefix(b"aaaaaaaac"));
    }

    #[test]
    fn the_plain_bytes_of_a_word_are_those_before_the_first_that_is_not() {
        for byte in 0..=255_u8 {
            for index in 0..8 {
                for after in [b'!', b'#', b']', b'"', 0x7f, 0xff] {
                    let mut word = [b'\xc3'; 8];
                    word[index..].fill(after);
                    word[index] = byte;
                    let wanted = word.iter().position(|byte| is_special(*byte)).unwrap_or(8);
                    assert_eq!(plain_prefix_len(word), wanted, "{byte} at {index} before {after}");
                }
            }
        }
    }
}
