//! Values made of digits: card numbers, social security numbers, IBANs.

use std::ops::Range;

use super::checksum;

/// The fewest and the most digits of a card number.
const CARD: std::ops::RangeInclusive<usize> = 12..=19;

/// Stretches of digits with single blanks or hyphens between them, as places of the digits.
fn digit_runs(text: &str) -> Vec<Vec<usize>> {
    let bytes = text.as_bytes();
    let mut runs: Vec<Vec<usize>> = Vec::new();
    let mut run: Vec<usize> = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        if byte.is_ascii_digit() {
            let joined = run.last().is_some_and(|last| {
                at - last == 1
                    || at - last == 2
                        && bytes.get(at - 1).is_some_and(|gap| matches!(gap, b' ' | b'-'))
            });
            if !joined && !run.is_empty() {
                runs.push(std::mem::take(&mut run));
            }
            run.push(at);
        }
    }
    runs.push(run);
    runs.retain(|run| run.len() >= 9);
    runs
}

/// True when the byte before or after makes the digits a part of something else.
fn is_part(bytes: &[u8], first: usize, last: usize) -> bool {
    let before = first.checked_sub(1).and_then(|at| bytes.get(at));
    let after = bytes.get(last + 1);
    let letter = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let point = before == Some(&b'.')
        && first.checked_sub(2).and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let fraction = after == Some(&b'.') && bytes.get(last + 2).is_some_and(u8::is_ascii_digit);
    letter(before) || letter(after) || point || fraction
}

/// Card numbers: groups of digits with a brand, a length of that brand and the Luhn sum. A run
/// may hold other numbers before and after; groups are not cut.
pub(crate) fn cards(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for run in digit_runs(text) {
        let mut at = 0;
        while at < run.len() {
            match card_at(bytes, &run, at) {
                Some(end) => {
                    if let (Some(first), Some(last)) = (run.get(at), run.get(end - 1)) {
                        found.push(*first..*last + 1);
                    }
                    at = end;
                }
                None => at += 1,
            }
        }
    }
    found
}

/// The end of the longest card number that starts with the digit `at` of a run.
fn card_at(bytes: &[u8], run: &[usize], at: usize) -> Option<usize> {
    let first = *run.get(at)?;
    let starts_group = at == 0 || run.get(at - 1).is_some_and(|before| first - before > 1);
    if !starts_group {
        return None;
    }
    CARD.rev().map(|length| at + length).find(|end| {
        let Some(places) = run.get(at..*end) else { return false };
        let Some(last) = places.last() else { return false };
        let ends_group = run.get(*end).is_none_or(|after| after - last > 1);
        if !ends_group || is_part(bytes, first, *last) {
            return false;
        }
        let digits: Vec<u8> = places.iter().filter_map(|at| bytes.get(*at)).copied().collect();
        checksum::card(&digits)
    })
}

/// IBANs: a country with its length, the remainder of 97, blanks or hyphens allowed between.
pub(crate) fn ibans(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    for start in 0..bytes.len() {
        let [a, b, c, d] = match bytes.get(start..start + 4) {
            Some([a, b, c, d]) => [*a, *b, *c, *d],
            _ => break,
        };
        let looks = a.is_ascii_alphabetic()
            && b.is_ascii_alphabetic()
            && c.is_ascii_digit()
            && d.is_ascii_digit();
        let inside = start.checked_sub(1).and_then(|at| bytes.get(at));
        if !looks
            || inside.is_some_and(u8::is_ascii_alphanumeric)
            || found.last().is_some_and(|last| start < last.end)
        {
            continue;
        }
        found.extend(iban_at(bytes, start, [a, b]));
    }
    found
}

fn iban_at(bytes: &[u8], start: usize, country: [u8; 2]) -> Option<Range<usize>> {
    let length = checksum::iban_length(country)?;
    let mut iban = Vec::with_capacity(length);
    let mut at = start;
    let mut gap = false;
    while iban.len() < length {
        match bytes.get(at)? {
            b if b.is_ascii_alphanumeric() => {
                iban.push(*b);
                gap = false;
            }
            b' ' | b'-' if !gap => gap = true,
            _ => return None,
        }
        at += 1;
    }
    let ends = bytes.get(at).is_none_or(|b| !b.is_ascii_alphanumeric());
    (ends && checksum::mod97(&iban)).then_some(start..at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<'t>(text: &'t str, ranges: &[Range<usize>]) -> Vec<&'t str> {
        ranges.iter().filter_map(|range| text.get(range.clone())).collect()
    }

    #[test]
    fn a_card_is_found_among_other_numbers() {
        let text = "ref 1234 4012 8888 8888 1881 12 and 4111-1111-1111-1111.";
        assert_eq!(shown(text, &cards(text)), ["4012 8888 8888 1881", "4111-1111-1111-1111"]);
        for text in
            ["1.4111111111111111", "4111111111111111.5", "x4111111111111111", "4111 1111 1111 1112"]
        {
            assert!(cards(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn an_iban_ends_where_its_country_says() {
        let text = "pay GB82 WEST 1234 5698 7654 32 now or DE89370400440532013000";
        assert_eq!(
            shown(text, &ibans(text)),
            ["GB82 WEST 1234 5698 7654 32", "DE89370400440532013000"]
        );
        assert!(ibans("GB82 WEST 1234 5698 7654 31").is_empty());
    }
}
