//! Social security numbers of the United States.

use super::candidate::{BLANK, Candidate, HYPHEN, POINT, byte_at, byte_before};
use super::checksum::{all_same, parse_digits};
use super::context::{CandidateContext, topic};

/// True if nine digits are a number that may have been issued.
pub(super) fn is_ssn(context: &CandidateContext<'_>, candidate: &Candidate) -> bool {
    let bytes = context.bytes;
    let digits = candidate.chars();
    if digits.len() != 9 || candidate.letter_mask != 0 || !may_be_issued(digits) {
        return false;
    }
    let one_sign = matches!(candidate.separators, BLANK | HYPHEN | POINT);
    // No decimal has hyphens, so the comma behind one ends a cell: `…,424-32-8755,2024-03-01`.
    let is_cell = byte_at(bytes, candidate.end) == b',' && candidate.separators == HYPHEN;
    let glued =
        matches!(byte_before(bytes, candidate.start), b'-' | b'.' | b'_' | b'/' | b'+' | b'$')
            || matches!(byte_at(bytes, candidate.end), b'_' | b'%')
            || matches!(byte_at(bytes, candidate.end), b'-' | b'.' | b',' | b':' | b'/')
                && byte_at(bytes, candidate.end + 1).is_ascii_digit()
                && !is_cell;
    if glued {
        return false;
    }
    let named = || context.get().right_before & topic::SSN != 0;
    match candidate.group_sizes() {
        [3, 2, 4] => {
            one_sign && candidate.has_single_separators && !context.is_labelled_as_order()
                || named()
        }
        [3, 6] => candidate.separators == HYPHEN || named(),
        // Five and four digits are also a postal code.
        [5, 4] | [9] => named(),
        _ => false,
    }
}

fn may_be_issued(digits: &[u8]) -> bool {
    let (area, group, serial) =
        (parse_digits(digits, 0, 3), parse_digits(digits, 3, 5), parse_digits(digits, 5, 9));
    // Numbers that were printed on specimen cards and taken for real ones.
    let specimen = matches!(digits, b"078051120" | b"219099999" | b"987654321");
    area != 0
        && area != 666
        && area < 900
        && group != 0
        && serial != 0
        && !all_same(digits)
        && !specimen
}
