//! How far a text stands for itself between quotes.

/// The place of the first byte that does not stand for itself in a string: a quote, a backslash, a
/// control character; nothing where there is none. Eight bytes are looked at in one number;
/// subtracting borrows only from above a byte that is found, so the lowest one found is one.
pub(super) fn plain(text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let below = |word: u64, least: u64| word.wrapping_sub(ONES * least) & !word & HIGH;
    let look = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        let quote = below(word ^ (ONES * u64::from(b'"')), 1);
        let found = quote | below(word ^ (ONES * u64::from(b'\\')), 1) | below(word, 0x20);
        (found != 0).then(|| found.trailing_zeros() as usize / 8)
    };
    let (words, rest) = text.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        if let Some(place) = look(word) {
            return Some(number * 8 + place);
        }
    }
    // The end is looked at together with bytes before it that are known to be plain.
    match text.last_chunk::<8>() {
        Some(_) if rest.is_empty() => None,
        Some(word) => look(word).map(|place| text.len() - 8 + place),
        None => rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f)),
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

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
        assert_eq!(plain(b""), None);
    }
}
