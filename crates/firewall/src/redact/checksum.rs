//! Checksums and the like: whether a text is really the value it looks like.

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

/// True for a card number's digits: a known brand, one of its lengths, and the Luhn sum.
pub(crate) fn card(digits: &[u8]) -> bool {
    brand_lengths(digits).contains(&digits.len()) && luhn(digits)
}

fn brand_lengths(digits: &[u8]) -> &'static [usize] {
    let head = |n: usize| {
        digits
            .iter()
            .take(n)
            .fold(0_u32, |sum, digit| sum * 10 + u32::from(digit.saturating_sub(b'0')))
    };
    match (head(1), head(2), head(3), head(4)) {
        (_, 34 | 37, _, _) | (_, _, _, 1800 | 2131) => &[15],
        (_, 36 | 38 | 39, _, _) | (_, _, 300..=305, _) => &[14, 16, 17, 18, 19],
        (_, _, _, 3528..=3589) => &[16, 17, 18, 19],
        (4, _, _, _) => &[13, 16, 19],
        (_, 51..=55, _, _) | (_, _, _, 2221..=2720) => &[16],
        (_, 62 | 65, _, _) | (_, _, 644..=649, _) | (_, _, _, 6011) => &[16, 17, 18, 19],
        (_, _, _, 5018 | 5020 | 5038 | 5893 | 6304 | 6759 | 6761..=6763) => {
            &[12, 13, 14, 15, 16, 17, 18, 19]
        }
        _ => &[],
    }
}

/// True for a US social security number that can have been given out: nine digits, with area,
/// group and serial that exist.
pub(crate) fn ssn(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).collect();
    let part = |range: std::ops::Range<usize>| {
        digits.get(range).and_then(|part| std::str::from_utf8(part).ok()).unwrap_or("000")
    };
    let (area, group, serial) = (part(0..3), part(3..5), part(5..9));
    digits.len() == 9
        && area != "000"
        && area != "666"
        && !area.starts_with('9')
        && group != "00"
        && serial != "0000"
        && digits.iter().any(|digit| Some(digit) != digits.first())
}

/// The length of an IBAN of this country, if it has IBANs.
pub(crate) fn iban_length(country: [u8; 2]) -> Option<usize> {
    let country = country.map(|letter| letter.to_ascii_uppercase());
    const LENGTHS: &[(usize, &str)] = &[
        (15, "NO"),
        (16, "BE"),
        (18, "DK FI FK FO GL NL SD"),
        (19, "MK SI"),
        (20, "AT BA EE KZ LT LU MN XK"),
        (21, "CH HR LI LV"),
        (22, "BG BH CR DE GB GE IE ME RS VA"),
        (23, "AE GI IL IQ OM SO TL"),
        (24, "AD CZ ES MD PK RO SA SE SK TN VG"),
        (25, "LY PT ST"),
        (26, "IS TR"),
        (27, "BI DJ FR GR IT MC MR SM"),
        (28, "AL AZ BY CY DO GT HN HU LB NI PL SV"),
        (29, "BR EG PS QA UA"),
        (30, "JO KW MU YE"),
        (31, "MT SC"),
        (32, "LC"),
        (33, "RU"),
    ];
    LENGTHS
        .iter()
        .find(|(_, codes)| codes.split(' ').any(|code| code.as_bytes() == country))
        .map(|(length, _)| *length)
}

/// The remainder of an IBAN, its first four characters moved to the end, by 97 is 1.
pub(crate) fn mod97(iban: &[u8]) -> bool {
    let (head, rest) = iban.split_at(iban.len().min(4));
    let sum = rest.iter().chain(head).fold(0_u32, |sum, c| match c {
        b'0'..=b'9' => (sum * 10 + u32::from(c - b'0')) % 97,
        b'a'..=b'z' => (sum * 100 + u32::from(c - b'a') + 10) % 97,
        b'A'..=b'Z' => (sum * 100 + u32::from(c - b'A') + 10) % 97,
        _ => 0,
    });
    sum == 1
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
    fn cards_have_a_brand_a_length_and_a_sum() {
        for good in [
            "4111111111111111",
            "378282246310005",
            "5555555555554444",
            "6011111111111117",
            "30569309025904",
            "3530111333300000",
            "2223003122003222",
        ] {
            assert!(card(good.as_bytes()), "{good}");
        }
        for bad in
            ["4111111111111112", "411111111111111", "9111111111111111", "", "0000000000000000"]
        {
            assert!(!card(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn ibans_have_a_length_and_a_remainder() {
        assert_eq!(iban_length(*b"gb"), Some(22));
        assert_eq!(iban_length(*b"US"), None);
        assert!(mod97(b"GB82WEST12345698765432"));
        assert!(!mod97(b"GB82WEST12345698765431"));
    }

    #[test]
    fn numbers_that_nobody_has_are_no_ssn() {
        assert!(ssn("536-22-1234") && ssn("536 22 1234"));
        for bad in [
            "000-12-3456",
            "666-12-3456",
            "900-12-3456",
            "536-00-1234",
            "536-22-0000",
            "1",
            "111-11-1111",
        ] {
            assert!(!ssn(bad), "{bad}");
        }
    }

    #[test]
    fn entropy_grows_with_variety() {
        assert!(entropy("aaaaaaaa") < 0.01);
        assert!((entropy("abcdefgh") - 3.0).abs() < 0.01);
    }
}
