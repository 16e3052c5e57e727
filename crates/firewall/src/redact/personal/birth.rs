//! Dates of birth: a date right after a word for it.

use std::ops::Range;

use super::checksum::{is_day, number};
use super::cluster::{Cluster, before};

/// The farthest that the word stands before the date, in bytes.
const FAR: usize = 40;
/// Parts of words for being born, in lower case.
const WORDS: &[&[u8]] = &[
    b"birth",
    b"born",
    b"dob",
    b"d.o.b",
    b"geboren",
    b"geburt",
    b"naissance",
    b"nacimiento",
    b"nascita",
    b"nascimento",
    b"geboorte",
    b"urodz",
    b"\xc3\xa9 le",
    b"\xc3\xa9e le",
    b"nato il",
    b"nata il",
    b"f\xc3\xb6delse",
];

/// The date of birth that groups of digits are.
pub(super) fn date(bytes: &[u8], cluster: &Cluster) -> Option<Range<usize>> {
    let digits = cluster.compact();
    let (first, second) = match *cluster.sizes() {
        [4, 1 | 2, 1 | 2] if matches!(digits, [b'1', b'9', ..] | [b'2', b'0', ..]) => (4, 0),
        [1 | 2, 1 | 2, 2 | 4] => (0, 0),
        _ => return None,
    };
    if cluster.letters != 0 || !cluster.simple || !after_word(bytes, cluster.start) {
        return None;
    }
    let sizes: Vec<usize> = cluster.sizes().iter().map(|size| usize::from(*size)).collect();
    let [a, b, c] = *sizes.as_slice() else { return None };
    let (left, right) = match first {
        4 => (number(digits, a, a + b), number(digits, a + b, a + b + c)),
        _ => (number(digits, second, a), number(digits, a, a + b)),
    };
    let exists = is_day(left, right) || first == 0 && is_day(right, left);
    exists.then_some(cluster.start..cluster.end)
}

/// One of the words stands before, with nothing but signs and a short word between.
fn after_word(bytes: &[u8], start: usize) -> bool {
    if !matches!(before(bytes, start), b' ' | b'"' | b'\'' | b':' | b'=' | b'(' | b'\t' | b'>') {
        return false;
    }
    let label = bytes.get(start.saturating_sub(FAR)..start).unwrap_or_default();
    let line = label.rsplit(|byte| *byte == b'\n').next().unwrap_or_default().to_ascii_lowercase();
    WORDS.iter().any(|word| {
        let found = line.windows(word.len()).rposition(|window| window == *word);
        found.is_some_and(|at| {
            let between = line.get(at + word.len()..).unwrap_or_default();
            between.len() <= 14 && !between.iter().any(u8::is_ascii_digit)
        })
    })
}
