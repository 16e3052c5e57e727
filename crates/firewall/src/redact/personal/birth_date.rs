//! Dates of birth: a date right after a word for birth.

use std::ops::Range;

use super::candidate::{Candidate, byte_before};
use super::checksum::{is_day, parse_digits};
use super::context::{CandidateContext, topic};
use crate::redact::validators::words;

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
    if candidate.letter_mask != 0 || !candidate.has_single_separators {
        return None;
    }
    let sizes: Vec<usize> = candidate.group_sizes().iter().map(|size| usize::from(*size)).collect();
    let [a, b, c] = *sizes.as_slice() else { return None };
    let (left, right) = match first {
        4 => (parse_digits(digits, a, a + b), parse_digits(digits, a + b, a + b + c)),
        _ => (parse_digits(digits, second, a), parse_digits(digits, a, a + b)),
    };
    let exists = is_day(left, right) || first == 0 && is_day(right, left);
    let is_labelled =
        || opened && context.get().last_label & context.get().label & topic::BIRTH != 0;
    let born = exists && (is_labelled() || context.is_under_birth_heading(names_a_birth));
    born.then_some(candidate.start..candidate.end)
}

/// Parts of the headings of columns with dates of birth.
const HEADING_STEMS: &[&str] = words![
    "birth" "dob" "geburt" "geb." "geboren" "né le" "née le" "född" "født" "naissance" "nacimiento" "nascita" "nascimento" "geboorte" "urodz" "födel"
    "fødsel" "syntym" "narozen" "születés" "doğum" "рожд" "народж" "γέννησ" "生年月日" "出生" "생년월일" "तिथि"
];

/// True for a heading of a column with dates of birth.
fn names_a_birth(heading: &[u8]) -> bool {
    let heading = String::from_utf8_lossy(heading).to_lowercase();
    HEADING_STEMS.iter().any(|stem| heading.contains(stem))
}
