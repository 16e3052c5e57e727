//! Dates of birth: a date right after a word for birth.

use std::ops::Range;

use super::candidate::{Candidate, byte_before};
use super::checksum::{is_day, parse_digits};
use super::context::{CandidateContext, topic};

/// The date of birth that a candidate is, if any.
pub(super) fn birth_date(
    context: &CandidateContext<'_>,
    candidate: &Candidate,
) -> Option<Range<usize>> {
    let digits = candidate.chars();
    let (first, second) = match *candidate.group_sizes() {
        [4, 1 | 2, 1 | 2] if matches!(digits, [b'1', b'9', ..] | [b'2', b'0', ..]) => (4, 0),
        [1 | 2, 1 | 2, 2 | 4] => (0, 0),
        _ => return None,
    };
    let opened = matches!(
        byte_before(context.bytes, candidate.start),
        b' ' | b'"' | b'\'' | b':' | b'=' | b'(' | b'\t' | b'>'
    );
    if candidate.letter_mask != 0 || !candidate.has_single_separators || !opened {
        return None;
    }
    let sizes: Vec<usize> = candidate.group_sizes().iter().map(|size| usize::from(*size)).collect();
    let [a, b, c] = *sizes.as_slice() else { return None };
    let (left, right) = match first {
        4 => (parse_digits(digits, a, a + b), parse_digits(digits, a + b, a + b + c)),
        _ => (parse_digits(digits, second, a), parse_digits(digits, a, a + b)),
    };
    let exists = is_day(left, right) || first == 0 && is_day(right, left);
    let born = exists && context.get().last_label & context.get().label & topic::BIRTH != 0;
    born.then_some(candidate.start..candidate.end)
}
