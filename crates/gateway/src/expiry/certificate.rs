//! Reads the end of an X.509 certificate (RFC 5280 §4.1) from its DER.

use weaver_types::Timestamp;

/// The tags of ASN.1 that stand before the validity.
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// `notAfter` of a certificate; `None` if it is not one.
pub(super) fn not_after(der: &[u8]) -> Option<Timestamp> {
    let (certificate, _) = element(der, SEQUENCE)?;
    let (mut rest, _) = element(certificate, SEQUENCE)?;
    if let Some((_, after_version)) = element(rest, VERSION) {
        rest = after_version;
    }
    // The serial number, the algorithm of the signature, the issuer.
    for _ in 0..3 {
        rest = any_element(rest)?.rest;
    }
    let (validity, _) = element(rest, SEQUENCE)?;
    let end = any_element(any_element(validity)?.rest)?;
    let text = str::from_utf8(end.content).ok()?;
    let date = match end.tag {
        // RFC 5280 §4.1.2.5.1: from 50 on, years of the 20th century.
        UTC_TIME => {
            let century = if text.get(..2)? < "50" { "20" } else { "19" };
            format!("{century}{text}")
        }
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let part = |range: std::ops::Range<usize>| date.get(range);
    let (year, month, day) = (part(0..4)?, part(4..6)?, part(6..8)?);
    let (hour, minute, second) = (part(8..10)?, part(10..12)?, part(12..14)?);
    Timestamp::parse_rfc3339(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z"))
}

/// The first element of some bytes.
struct Element<'a> {
    tag: u8,
    content: &'a [u8],
    rest: &'a [u8],
}

/// The content of the first element, which must have this tag, and what follows it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    any_element(bytes).filter(|found| found.tag == tag).map(|found| (found.content, found.rest))
}

fn any_element(bytes: &[u8]) -> Option<Element<'_>> {
    let (&[tag, first], rest) = bytes.split_first_chunk::<2>()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        // The long form: so many bytes of length follow.
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some(Element { tag, content, rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).unwrap();
        let head = if length < 0x80 { vec![tag, length] } else { vec![tag, 0x81, length] };
        [head.as_slice(), content].concat()
    }

    /// The part of a certificate up to its validity.
    fn certificate(version: bool, time_tag: u8, end: &str) -> Vec<u8> {
        let version = if version { der(VERSION, &[2, 1, 2]) } else { Vec::new() };
        let start = der(UTC_TIME, b"200101000000Z");
        let validity = der(SEQUENCE, &[start, der(time_tag, end.as_bytes())].concat());
        let fields = [
            version,
            der(2, &[0; 90]),
            der(SEQUENCE, b""),
            der(SEQUENCE, b"issuer"),
            validity,
            der(SEQUENCE, b"subject"),
        ];
        der(SEQUENCE, &der(SEQUENCE, &fields.concat()))
    }

    #[test]
    fn the_end_is_read_in_both_forms_of_time() {
        for (version, tag, end, wanted) in [
            (true, UTC_TIME, "270203040506Z", "2027-02-03T04:05:06.000000Z"),
            (false, UTC_TIME, "990203040506Z", "1999-02-03T04:05:06.000000Z"),
            (true, GENERALIZED_TIME, "20510203040506Z", "2051-02-03T04:05:06.000000Z"),
        ] {
            let read = not_after(&certificate(version, tag, end)).map(Timestamp::rfc3339);
            assert_eq!(read.as_deref(), Some(wanted));
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_end() {
        let whole = certificate(true, UTC_TIME, "270203040506Z");
        assert!(not_after(&certificate(true, 4, "270203040506Z")).is_none());
        assert!(not_after(&certificate(true, UTC_TIME, "2702")).is_none());
        for cut in 0..whole.len() {
            assert!(not_after(&whole[..cut]).is_none(), "{cut}");
        }
    }
}
