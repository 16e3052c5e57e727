//! Decodes backslash escapes of JSON and programming languages.
//!
//! Each level of nested strings doubles the backslashes. A run of backslashes before an escape
//! therefore counts as one, whatever its length.

use super::web::number;
use crate::work;

/// Maximum number of digits in `\u{…}`.
const MAX_BRACED_DIGITS: usize = 8;

/// The meaning of a run of backslashes with the bytes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EscapeMatch {
    /// An escape that ends here and stands for the character.
    Char(usize, char),
    /// A line continuation that ends here and stands for nothing.
    Nothing(usize),
    /// No escape before this position.
    Plain(usize),
}

/// Matches the run of backslashes at `at` and the escape after it.
pub(super) fn match_escape(bytes: &[u8], at: usize) -> EscapeMatch {
    let slashes = backslash_run(bytes, at);
    let after = at + slashes;
    let simple = |c| EscapeMatch::Char(after + 1, c);
    let Some(kind) = bytes.get(after) else { return EscapeMatch::Plain(after) };
    match kind {
        b'n' => simple('\n'),
        b'r' => simple('\r'),
        b't' => simple('\t'),
        b'e' if bytes.get(after + 1) == Some(&b'[') => simple('\u{1b}'),
        b'"' | b'\'' | b'/' | b'`' => simple(char::from(*kind)),
        b'\n' => EscapeMatch::Nothing(after + 1),
        b'\r' if bytes.get(after + 1) == Some(&b'\n') => EscapeMatch::Nothing(after + 2),
        b'u' | b'U' | b'x' | b'0'..=b'3' => match character_code(bytes, after) {
            Some((end, c)) => EscapeMatch::Char(end, c),
            None => EscapeMatch::Plain(after),
        },
        _ => EscapeMatch::Plain(after),
    }
}

fn backslash_run(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let len = rest.iter().take_while(|b| **b == b'\\').count();
    work::add_steps(len);
    len
}

/// The character of the numeric escape at `at`: `u0040`, `u{40}`, `U00000040`, `x40` or octal `100`.
fn character_code(bytes: &[u8], at: usize) -> Option<(usize, char)> {
    let (end, code) = match bytes.get(at..)? {
        [b'u' | b'x', b'{', rest @ ..] => {
            let len = rest.iter().take(MAX_BRACED_DIGITS + 1).position(|b| *b == b'}')?;
            (at + len + 3, number(rest.get(..len)?, 16)?)
        }
        [b'u', rest @ ..] => {
            let unit = number(rest.get(..4)?, 16)?;
            if (0xd800..0xdc00).contains(&unit) {
                return surrogate_pair(bytes, at + 5, unit);
            }
            (at + 5, unit)
        }
        [b'U', rest @ ..] => (at + 9, number(rest.get(..8)?, 16)?),
        [b'x', rest @ ..] => (at + 3, number(rest.get(..2)?, 16)?),
        digits => (at + 3, number(digits.get(..3)?, 8)?),
    };
    Some((end, char::from_u32(code)?))
}

/// The character of a surrogate pair whose low half is escaped at `at`.
fn surrogate_pair(bytes: &[u8], at: usize, high: u32) -> Option<(usize, char)> {
    // Bounded, so that a run of backslashes is not read repeatedly.
    let slashes = bytes.get(at..)?.iter().take(64).take_while(|b| **b == b'\\').count();
    let after = at + slashes;
    if slashes == 0 || bytes.get(after) != Some(&b'u') {
        return None;
    }
    let low = number(bytes.get(after + 1..after + 5)?, 16)?;
    let low = low.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    Some((after + 5, char::from_u32(0x10000 + ((high - 0xd800) << 10) + low)?))
}
