//! How far a text stands for itself between quotes.

/// Bytes that are looked at together, which compiles to vector code.
const BLOCK: usize = 16;

/// A byte that does not stand for itself in a string.
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Whether one of the bytes is such, without a branch for each.
fn any<const N: usize>(block: &[u8; N], is_one: impl Fn(u8) -> bool) -> bool {
    block.iter().fold(false, |any, byte| any | is_one(*byte))
}

/// Whether one of the bytes is such. The end is looked at together with bytes before it.
fn any_in(text: &[u8], is_one: impl Fn(u8) -> bool + Copy) -> bool {
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    if blocks.iter().any(|block| any(block, is_one)) {
        return true;
    }
    match (rest.len(), text.last_chunk::<BLOCK>(), rest.first_chunk::<8>()) {
        (0, _, _) => false,
        (_, Some(last), _) => any(last, is_one),
        (_, None, Some(first)) => {
            any(first, is_one) || rest.last_chunk::<8>().is_some_and(|last| any(last, is_one))
        }
        (_, None, None) => rest.iter().any(|byte| is_one(*byte)),
    }
}

/// Whether a name stands for itself, in characters whose order by bytes is that by UTF-16 units.
pub(super) fn is_plain_name(name: &[u8]) -> bool {
    !any_in(name, |byte| is_special(byte) | !byte.is_ascii())
        || !any_in(name, |byte| is_special(byte) | (byte >= 0xf0))
}

/// The place of the first byte that does not stand for itself in a string: a quote, a backslash, a
/// control character; nothing where there is none.
pub(super) fn plain(text: &[u8]) -> Option<usize> {
    if any_in(text, is_special) { text.iter().position(|byte| is_special(*byte)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::{is_plain_name, plain};

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
}
