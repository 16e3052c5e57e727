//! Phone numbers written in groups: international, North American, and with a trunk zero.

use std::ops::Range;

/// A group of digits.
#[derive(Clone, Copy)]
struct Group {
    start: usize,
    end: usize,
}

impl Group {
    fn len(self) -> usize {
        self.end - self.start
    }
}

/// The most groups of one number.
const MAX_GROUPS: usize = 8;

/// Phone numbers, with the sign or bracket before them.
pub(crate) fn numbers(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let groups = groups(bytes);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(window) = groups.get(at..groups.len().min(at + MAX_GROUPS)) {
        let Some(first) = window.first() else { break };
        let joined = joined(bytes, window);
        let taken = international(bytes, joined)
            .or_else(|| american(bytes, joined))
            .or_else(|| trunk(bytes, joined));
        match taken.and_then(|n| Some((n, joined.get(n - 1)?))) {
            Some((n, last)) if !touches(bytes, *first, extended(bytes, *last)) => {
                found.push(opening(bytes, first.start)..extended(bytes, *last).end);
                at += n;
            }
            _ => at += 1,
        }
    }
    found
}

fn groups(bytes: &[u8]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (at, _) in bytes.iter().enumerate().filter(|(_, b)| b.is_ascii_digit()) {
        match groups.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => groups.push(Group { start: at, end: at + 1 }),
        }
    }
    groups
}

/// The groups from the first on that have only a separator between them.
fn joined<'g>(bytes: &[u8], groups: &'g [Group]) -> &'g [Group] {
    let apart = groups.windows(2).position(|pair| match pair {
        [a, b] => !bytes.get(a.end..b.start).is_some_and(is_separator),
        _ => true,
    });
    groups.get(..apart.map_or(groups.len(), |at| at + 1)).unwrap_or_default()
}

fn is_separator(gap: &[u8]) -> bool {
    matches!(gap, [b' ' | b'-' | b'.' | b'/'] | b") " | b")-" | b" (" | b")" | b"-(" | b"(")
        || matches!(gap, [b' ', b'-', b' '])
}

/// `+` and 8 to 15 digits: as many groups as fit.
fn international(bytes: &[u8], groups: &[Group]) -> Option<usize> {
    let first = groups.first()?;
    let plus = first.start.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b'+');
    let double_zero = groups.len() > 2
        && matches!(bytes.get(first.start..first.start + 3), Some([b'0', b'0', b'1'..=b'9']));
    let zero = bytes.get(first.start) == Some(&b'0');
    if !(plus && !zero || double_zero) {
        return None;
    }
    let mut digits = 0;
    let fitting = groups.iter().take_while(|group| {
        digits += group.len();
        digits <= 15
    });
    let n = fitting.count();
    let total: usize = groups.iter().take(n).map(|group| group.len()).sum();
    (total >= 8).then_some(n)
}

/// `(212) 555-0123`, `212-555-0123`, `1 212 555 0123`.
fn american(bytes: &[u8], groups: &[Group]) -> Option<usize> {
    let country = groups.first().is_some_and(|g| bytes.get(g.start..g.end) == Some(b"1"));
    let rest = groups.get(usize::from(country)..)?;
    let lengths: Vec<usize> = rest.iter().take(3).map(|group| group.len()).collect();
    let real = |group: Option<&Group>| {
        group.and_then(|g| bytes.get(g.start)).is_some_and(|digit| (b'2'..=b'9').contains(digit))
    };
    let fits = lengths == [3, 3, 4] && real(rest.first()) && real(rest.get(1));
    fits.then_some(3 + usize::from(country))
}

/// A trunk zero and 9 to 11 digits in two to five groups: `020 7946 0958`, `06 12 34 56 78`.
fn trunk(bytes: &[u8], groups: &[Group]) -> Option<usize> {
    let first = groups.first()?;
    let zero = bytes.get(first.start) == Some(&b'0');
    let nonzero = bytes.get(first.start + 1).is_some_and(|b| (b'1'..=b'9').contains(b));
    if !zero || !nonzero || !(2..=5).contains(&first.len()) {
        return None;
    }
    let pairs = groups.len() == 5 && groups.iter().all(|group| group.len() == 2);
    let total: usize = groups.iter().map(|group| group.len()).sum();
    let wide = (2..=4).contains(&groups.len())
        && groups.iter().skip(1).all(|group| (3..=8).contains(&group.len()))
        && (first.len() > 2 || groups.len() > 1 && total >= 10)
        && (9..=11).contains(&total);
    (pairs || wide).then_some(groups.len())
}

/// The last group with its extension: `x036`.
fn extended(bytes: &[u8], last: Group) -> Group {
    if bytes.get(last.end) != Some(&b'x') {
        return last;
    }
    let digits = bytes.iter().skip(last.end + 1).take(7).take_while(|b| b.is_ascii_digit()).count();
    if (1..=6).contains(&digits) { Group { end: last.end + 1 + digits, ..last } } else { last }
}

/// True when a letter, a digit or a point joins the number to something else.
fn touches(bytes: &[u8], first: Group, last: Group) -> bool {
    let start = opening(bytes, first.start);
    let before = start.checked_sub(1).and_then(|at| bytes.get(at));
    let after = bytes.get(last.end);
    let then = bytes.get(last.end + 1);
    let word = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let inner = |b: Option<&u8>| b.is_some_and(|b| b".-/".contains(b));
    word(before)
        || before.is_some_and(|b| b"./-".contains(b))
        || word(after)
        || inner(after) && then.is_some_and(u8::is_ascii_digit)
}

/// The place of the sign or bracket before the first digit.
fn opening(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(before) = at.checked_sub(1) {
        if start - before > 2 || !bytes.get(before).is_some_and(|b| b"+(".contains(b)) {
            break;
        }
        at = before;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_each_form() {
        for text in [
            "+14155552671",
            "+44 20 7946 0958",
            "+49 (0)30 1234567",
            "(212) 555-0123",
            "212-555-0123",
            "212.555.0123",
            "1 212 555 0123",
            "020 7946 0958",
            "06 12 34 56 78",
            "0161 496 0123",
            "+45 32 12 33 52",
            "+1 (415) 555-2671",
            "463-612-6138x036",
        ] {
            let inside = format!("call {text}, ok");
            let found = numbers(&inside);
            let shown: Vec<_> = found.into_iter().filter_map(|range| inside.get(range)).collect();
            assert_eq!(shown, [text]);
        }
    }

    #[test]
    fn other_numbers_are_none() {
        for text in [
            "2024-01-02 10:11:12",
            "192.168.1.10",
            "1.2.3",
            "3.14159265",
            "id 123456789012",
            "12345 items in 8823 ms",
            "v212.555.01234",
            "978-3-16-148410-0",
            "01-02-2024",
            "+1",
            "40.7128, -74.0060",
            "100 200 3000",
            "badge 000-18-3445",
            "2025/10/10",
        ] {
            assert!(numbers(text).is_empty(), "{text}");
        }
    }
}
