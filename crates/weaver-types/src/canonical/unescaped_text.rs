//! Finds the prefix of a text that needs no escapes in a JSON string.

/// Bytes that are looked at together, which compiles to vector code.
const BLOCK: usize = 16;
/// One in each byte.
const ONES: u64 = u64::from_ne_bytes([1; 8]);
/// The highest bit of each byte.
const HIGH: u64 = ONES << 7;
const SPACES: u64 = ONES * 0x20;

/// A byte that does not stand for itself in a string.
pub(super) fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Whether one of the bytes is such, without a branch for each.
#[inline(always)]
fn any<const N: usize>(block: &[u8; N], is_one: impl Fn(u8) -> bool) -> bool {
    block.iter().fold(false, |any, byte| any | is_one(*byte))
}

/// Whether one of the bytes is such. The end is looked at together with bytes before it.
fn any_in(text: &[u8], is_one: impl Fn(u8) -> bool + Copy) -> bool {
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    if blocks.iter().any(|block| any(block, is_one)) {
        return true;
    }
    match (rest.len(), text.last_chunk::<BLOCK>()) {
        (0, _) => false,
        (_, Some(last)) => any(last, is_one),
        (_, None) => rest.iter().any(|byte| is_one(*byte)),
    }
}

/// Whether a name stands for itself, in characters whose order by bytes is that by UTF-16 units.
#[inline(never)]
pub(super) fn is_plain_name(name: &[u8]) -> bool {
    !any_in(name, |byte| is_special(byte) | (byte >= 0xf0))
}

/// The place of the first byte that does not stand for itself in a string: a quote, a backslash, a
/// control character; nothing where there is none.
pub(super) fn plain(text: &[u8]) -> Option<usize> {
    if any_in(text, is_special) { text.iter().position(|byte| is_special(*byte)) } else { None }
}

/// The first eight bytes of a text as a number, with zeros where it is shorter: of two texts without
/// a zero byte, the one with the lower number stands first.
pub(super) fn head(text: &[u8]) -> u64 {
    text.iter().take(8).rfold(0, |sum, byte| sum >> 8 | u64::from(*byte) << 56)
}

/// Copies a text to a place of its length and gives its [`head`], if every byte of it is ASCII that
/// stands for itself. Where it gives nothing, the text has to be looked at more closely.
#[inline(always)]
pub(super) fn copy(text: &[u8], place: &mut [u8]) -> Option<u64> {
    let length = text.len();
    let (first, last) = match length {
        16.. => return copy_blocks(text, place),
        8.. => {
            let (first, last) = copy_ends(text, place)?;
            let (first, last) = (u64::from_be_bytes(first), u64::from_be_bytes(last));
            return (flags(first) | flags(last) == 0).then_some(first);
        }
        4.. => {
            let (first, last) = copy_ends(text, place)?;
            (u64::from(u32::from_be_bytes(first)) << 32, u64::from(u32::from_be_bytes(last)))
        }
        2.. => {
            let (first, last) = copy_ends(text, place)?;
            (u64::from(u16::from_be_bytes(first)) << 48, u64::from(u16::from_be_bytes(last)))
        }
        1 => {
            let ([first], [last]) = copy_ends(text, place)?;
            (u64::from(first) << 56, u64::from(last))
        }
        0 => return Some(0),
    };
    let head = first | last << (64 - 8 * length);
    // Where the text has ended, blanks stand in for it.
    (flags(head | SPACES >> (8 * length)) == 0).then_some(head)
}

/// Copies the first and the last bytes of a text, which may be the same ones in part.
fn copy_ends<const N: usize>(text: &[u8], place: &mut [u8]) -> Option<([u8; N], [u8; N])> {
    let (first, last) = (*text.first_chunk()?, *text.last_chunk()?);
    *place.first_chunk_mut()? = first;
    *place.last_chunk_mut()? = last;
    Some((first, last))
}

#[inline(always)]
fn copy_blocks(text: &[u8], place: &mut [u8]) -> Option<u64> {
    let (blocks, places) = (text.as_chunks().0, place.as_chunks_mut().0);
    for (block, place) in blocks.iter().zip(places) {
        *place = *block;
        if has_uncommon(block) {
            return None;
        }
    }
    let last = text.last_chunk()?;
    *place.last_chunk_mut()? = *last;
    (!has_uncommon(last)).then_some(u64::from_be_bytes(*text.first_chunk()?))
}

/// Whether one of the bytes is not ASCII, or does not stand for itself. One comparison with a sign
/// sees the lowest bytes and the highest.
#[inline(always)]
fn has_uncommon(block: &[u8; BLOCK]) -> bool {
    any(block, |byte| byte.cast_signed() < 0x20)
        | any(block, |byte| byte == b'"')
        | any(block, |byte| byte == b'\\')
}

/// How many bytes stand for themselves before the first that does not.
pub(super) fn plain_bytes(word: [u8; 8]) -> usize {
    let word = u64::from_le_bytes(word);
    (special(word) & !word & HIGH).trailing_zeros() as usize / 8
}

/// Zero only where all eight bytes are ASCII that stands for itself.
fn flags(word: u64) -> u64 {
    (special(word) | word) & HIGH
}

/// The highest bit of a byte of ASCII is set where it does not stand for itself, and perhaps where
/// a lower byte is set.
fn special(word: u64) -> u64 {
    // A subtraction sets the highest bit of a byte that is too small, and borrows from the next one.
    word.wrapping_sub(SPACES)
        | (word ^ (ONES * u64::from(b'"'))).wrapping_sub(ONES)
        | (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES)
}

#[cfg(test)]
mod tests {
    use super::{copy, head, is_plain_name, is_special, plain, plain_bytes};

    #[test]
    fn every_byte_that_ends_a_plain_stretch_is_seen_wherever_it_stands() {
        for byte in 0..=255_u8 {
            for place in 0..20 {
                for around in [b'a', b' ', b'#', b'!', b'[', b']', 0x7f, 0x80, 0xff] {
                    let mut text = [around; 20];
                    text[place] = byte;
                    let wanted = matches!(byte, b'"' | b'\\' | 0..=0x1f).then_some(place);
                    assert_eq!(plain(&text), wanted, "{byte} at {place} among {around}");
                }
            }
        }
        assert_eq!(plain(&[1; 9]), Some(0));
        for length in 0..40 {
            for place in 0..length {
                let mut text = vec![b'a'; length];
                text[place] = b'"';
                assert_eq!(plain(&text), Some(place), "{place} of {length}");
                assert!(!is_plain_name(&text), "{place} of {length}");
                text[place] = 0xf0;
                assert!(plain(&text).is_none() && !is_plain_name(&text), "{place} of {length}");
                text[place] = 0xc3;
                assert!(is_plain_name(&text), "{place} of {length}");
            }
        }
        assert_eq!(plain(b""), None);
    }
    #[test]
    fn a_text_is_copied_and_what_does_not_stand_for_itself_is_seen() {
        for length in 0..40 {
            for byte in 0..=255_u8 {
                for place in 0..length {
                    let mut text = vec![b'!'; length];
                    text[place] = byte;
                    let mut copied = vec![0; length];
                    let plain = byte.is_ascii() && !is_special(byte);
                    let wanted = plain.then(|| head(&text));
                    assert_eq!(copy(&text, &mut copied), wanted, "{byte} at {place} of {length}");
                    assert!(!plain || copied == text, "{byte} at {place} of {length}");
                }
            }
        }
        assert_eq!(copy(b"", &mut []), Some(0));
    }

    #[test]
    fn heads_stand_in_the_order_of_their_texts() {
        let texts = ["", " ", "!", "a", "a!", "aaaaaaa", "aaaaaaaa", "aaaaaaab", "ab", "\u{e9}"];
        assert!(texts.map(|text| head(text.as_bytes())).is_sorted_by(|a, b| a < b));
        assert_eq!(head(b"aaaaaaaab"), head(b"aaaaaaaac"));
    }

    #[test]
    fn the_plain_bytes_of_a_word_are_those_before_the_first_that_is_not() {
        for byte in 0..=255_u8 {
            for place in 0..8 {
                for after in [b'!', b'#', b']', b'"', 0x7f, 0xff] {
                    let mut word = [b'\xc3'; 8];
                    word[place..].fill(after);
                    word[place] = byte;
                    let wanted = word.iter().position(|byte| is_special(*byte)).unwrap_or(8);
                    assert_eq!(plain_bytes(word), wanted, "{byte} at {place} before {after}");
                }
            }
        }
    }
}
