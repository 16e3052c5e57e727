//! Terminal escape sequences.

use crate::work;

/// The end of the sequence that starts at `at` with ESC, or with the C1 form of `ESC [`. An
/// unterminated sequence is its introducer alone. Reads no further than the next ESC.
pub(super) fn sequence_end(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at) != Some(&0x1b) {
        let rest = bytes.get(at + 2..).unwrap_or_default();
        return at + 2 + control_sequence_len(rest).unwrap_or(0);
    }
    let rest = bytes.get(at + 1..).unwrap_or_default();
    let len = match rest {
        [b'[', tail @ ..] => control_sequence_len(tail).map(|n| n + 1),
        [b']' | b'P' | b'X' | b'^' | b'_', tail @ ..] => string_len(tail).map(|n| n + 1),
        [b' '..=b'/', ..] => {
            let between = rest.iter().take_while(|b| matches!(b, b' '..=b'/')).count();
            rest.get(between).filter(|b| matches!(b, b'0'..=b'~')).map(|_| between + 1)
        }
        [b'0'..=b'~', ..] => Some(1),
        _ => None,
    };
    at + 1 + len.unwrap_or(0)
}

/// The length of a control sequence after its introducer: parameters, then one final byte.
fn control_sequence_len(bytes: &[u8]) -> Option<usize> {
    let len = bytes.iter().take_while(|b| matches!(b, b' '..=b'?')).count();
    work::add_steps(len);
    bytes.get(len).filter(|b| matches!(b, b'@'..=b'~')).map(|_| len + 1)
}

/// The length of a control string with its terminator, BEL or `ESC \`.
fn string_len(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|b| matches!(b, 0x07 | 0x1b | b'\n'));
    work::add_steps(end.unwrap_or(bytes.len()));
    let len = end?;
    match bytes.get(len..)? {
        [0x07, ..] => Some(len + 1),
        [0x1b, b'\\', ..] => Some(len + 2),
        _ => None,
    }
}
