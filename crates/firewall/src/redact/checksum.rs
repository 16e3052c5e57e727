//! Checksums and similar tests that tell a value from text of the same form.
//!
//! A one-digit check passes by chance once in ten, ISO/IEC 7064 modulo 97 once in ninety-seven. The
//! Luhn sum is defined in ISO/IEC 7812; IBANs use modulo 97.

/// True if the Luhn sum of ASCII digits is a multiple of ten.
pub(crate) fn is_luhn_valid(digits: &[u8]) -> bool {
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

/// Shannon entropy of the bytes, in bits per byte.
pub(crate) fn shannon_entropy(text: &str) -> f64 {
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

/// Decodes base64 or base64url text, with or without padding; `None` for other text.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut bits, mut bit_count) = (0_u32, 0_u32);
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
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            out.push(u8::try_from(bits >> bit_count & 0xff).unwrap_or(0));
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_grows_with_variety() {
        assert!(shannon_entropy("aaaaaaaa") < 0.01);
        assert!((shannon_entropy("abcdefgh") - 3.0).abs() < 0.01);
    }
}
