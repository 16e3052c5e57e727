//! Checksums and the like: whether a text is really the value it looks like.
//!
//! A check digit is right by chance once in ten or once in ninety-seven: enough to tell a number from
//! one that only has its form. Luhn's sum is that of ISO/IEC 7812, the remainder by 97 that of ISO/IEC
//! 7064, as IBANs have it.

/// The Luhn sum over the ASCII digits of a text.
pub(crate) fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let digit = u32::from(digit.saturating_sub(b'0'));
            match (place % 2, digit * 2) {
                (0, _) => digit,
                (_, double) if double > 9 => double - 9,
                (_, double) => double,
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Shannon entropy of the bytes, in bits a byte.
pub(crate) fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let total = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX)).max(1.0);
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / total;
            -share * share.log2()
        })
        .sum()
}

/// The bytes behind base64 text, with or without padding; nothing for other text.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut bits, mut held) = (0_u32, 0_u32);
    for c in text.trim_end_matches('=').bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xff_ffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from(bits >> held & 0xff).unwrap_or(0));
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_grows_with_variety() {
        assert!(entropy("aaaaaaaa") < 0.01);
        assert!((entropy("abcdefgh") - 3.0).abs() < 0.01);
    }
}
