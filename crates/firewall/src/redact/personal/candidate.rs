//! Candidates: groups of letters and digits with separators, read once and normalised.

/// The longest range that can be one value, in bytes.
pub(super) const MAX_VALUE_BYTES: usize = 64;
/// The most letters and digits of one value.
const MAX_CHARS: usize = 40;

/// True for a letter or digit.
pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// The byte at an index, or a blank outside the text.
pub(super) fn byte_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(b' ')
}

/// The byte before an index, or a blank.
pub(super) fn byte_before(bytes: &[u8], at: usize) -> u8 {
    at.checked_sub(1).map_or(b' ', |at| byte_at(bytes, at))
}

/// A maximal run of letters and digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    /// It has no letters.
    pub(super) is_numeric: bool,
    /// It consists of lower-case hexadecimal digits and is as long as hashes are.
    pub(super) looks_like_hash: bool,
}

impl Token {
    /// The token around a digit. The second value is false if the run is longer than any value.
    pub(super) fn around(bytes: &[u8], at: usize) -> (Self, bool) {
        let floor = at.saturating_sub(MAX_VALUE_BYTES);
        let mut start = at;
        while start > floor && is_word_byte(byte_before(bytes, start)) {
            start -= 1;
        }
        let mut end = at;
        let mut is_numeric = start == at;
        let in_hash = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let mut looks_like_hash =
            bytes.get(start..at).unwrap_or_default().iter().all(|byte| in_hash(*byte));
        while let Some(byte) = bytes.get(end).copied().filter(|byte| is_word_byte(*byte)) {
            is_numeric &= byte.is_ascii_digit();
            looks_like_hash &= in_hash(byte);
            end += 1;
        }
        looks_like_hash &= !is_numeric && end - start >= 8;
        let fits = end - start <= MAX_VALUE_BYTES
            && !(start > 0 && is_word_byte(byte_before(bytes, start)));
        (Self { start, end, is_numeric, looks_like_hash }, fits)
    }
}

/// The end of `2026-11-21T10:20:30`, with or without a fraction. A date with a time of day is not a
/// date of birth, and none of its numbers is anything else.
pub(super) fn timestamp_end(bytes: &[u8], at: usize) -> Option<usize> {
    const FORM: &[u8; 19] = b"dddd-dd-ddTdd:dd:dd";
    if byte_at(bytes, at + 4) != b'-' || is_word_byte(byte_before(bytes, at)) {
        return None;
    }
    let text = bytes.get(at..at + FORM.len())?;
    let fits = text.iter().zip(FORM).all(|(byte, form)| match form {
        b'd' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b' '),
        sign => byte == sign,
    });
    let mut end = at + FORM.len();
    if fits && matches!(byte_at(bytes, end), b'.' | b',') {
        let rest = bytes.get(end + 1..).unwrap_or_default();
        end += 1 + rest.iter().take(9).take_while(|b| b.is_ascii_digit()).count();
    }
    (fits && !byte_at(bytes, end).is_ascii_digit()).then_some(end)
}

/// Which separators may join groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupJoin {
    /// Blanks and brackets as well.
    Loose,
    /// A single hyphen, point or slash.
    Tight,
    /// None: a single token.
    Token,
}

/// Groups of letters and digits, with their separators.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) start: usize,
    pub(super) end: usize,
    chars: [u8; MAX_CHARS],
    len: usize,
    /// Bit `k` is set if character `k` is a letter.
    pub(super) letter_mask: u64,
    /// Bit `k` is set if a separator precedes character `k`.
    pub(super) break_mask: u64,
    group_sizes: [u8; 16],
    group_count: usize,
    /// The set of separators, as bits of [`separator`].
    pub(super) separators: u8,
    /// Every separator is a single byte.
    pub(super) has_single_separators: bool,
    /// At least one letter is in lower case.
    pub(super) has_lowercase: bool,
}

pub(super) const BLANK: u8 = 1;
pub(super) const HYPHEN: u8 = 2;
pub(super) const POINT: u8 = 4;
pub(super) const SLASH: u8 = 8;
pub(super) const BRACKET: u8 = 16;

/// The bit of a separator; 0 for other bytes.
pub(super) fn separator(byte: u8) -> u8 {
    match byte {
        b' ' => BLANK,
        b'-' => HYPHEN,
        b'.' => POINT,
        b'/' => SLASH,
        b'(' | b')' => BRACKET,
        _ => 0,
    }
}

impl Candidate {
    /// Reads the groups from a position on; `None` if they are too many or too long for a value.
    pub(super) fn parse(bytes: &[u8], start: usize, join: GroupJoin) -> Option<Self> {
        let mut candidate = Self {
            start,
            end: start,
            chars: [0; MAX_CHARS],
            len: 0,
            letter_mask: 0,
            break_mask: 0,
            group_sizes: [0; 16],
            group_count: 0,
            separators: 0,
            has_single_separators: true,
            has_lowercase: false,
        };
        let mut at = start;
        loop {
            at = candidate.read_group(bytes, at)?;
            candidate.end = at;
            let Some(next) = candidate.next_group(bytes, at, join) else { break };
            at = next;
        }
        Some(candidate)
    }

    /// Reads one group.
    fn read_group(&mut self, bytes: &[u8], start: usize) -> Option<usize> {
        let mut at = start;
        while let Some(byte) = bytes.get(at).copied().filter(|byte| is_word_byte(*byte)) {
            *self.chars.get_mut(self.len)? = byte.to_ascii_uppercase();
            if byte.is_ascii_alphabetic() {
                self.letter_mask |= 1 << self.len;
                self.has_lowercase |= byte.is_ascii_lowercase();
            }
            self.len += 1;
            at += 1;
        }
        *self.group_sizes.get_mut(self.group_count)? = u8::try_from(at - start).ok()?;
        self.group_count += 1;
        Some(at)
    }

    /// The start of the next group, if one is joined.
    fn next_group(&mut self, bytes: &[u8], end: usize, hold: GroupJoin) -> Option<usize> {
        if hold == GroupJoin::Token {
            return None;
        }
        let most = if hold == GroupJoin::Loose { 3 } else { 1 };
        let mut seen = 0;
        let mut at = end;
        while at < end + most {
            match separator(byte_at(bytes, at)) {
                0 => break,
                bit if hold == GroupJoin::Tight && bit & (BLANK | BRACKET) != 0 => break,
                bit => seen |= bit,
            }
            at += 1;
        }
        if at == end || at >= bytes.len() || !is_group_of_number(bytes, at) {
            return None;
        }
        // Two blanks, or a full stop and a blank, separate different things.
        if at - end > 1 && seen & (BRACKET | HYPHEN) == 0 && !is_area_slash(bytes, end, at) {
            return None;
        }
        self.separators |= seen;
        self.has_single_separators &= at - end == 1 && seen & BRACKET == 0;
        self.break_mask |= 1_u64.checked_shl(u32::try_from(self.len).ok()?)?;
        Some(at)
    }

    /// The letters and digits, in upper case.
    pub(super) fn chars(&self) -> &[u8] {
        self.chars.get(..self.len).unwrap_or_default()
    }

    /// The number of letters and digits.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The lengths of the groups.
    pub(super) fn group_sizes(&self) -> &[u8] {
        self.group_sizes.get(..self.group_count).unwrap_or_default()
    }

    /// True if there are no separators.
    pub(super) fn is_single_group(&self) -> bool {
        self.group_count == 1
    }
}

/// True if the token at this position can belong to the group before it: it has a digit or is a
/// single letter.
fn is_group_of_number(bytes: &[u8], at: usize) -> bool {
    let token = bytes.get(at..).unwrap_or_default().iter().take_while(|byte| is_word_byte(**byte));
    let mut letters = 0;
    for byte in token.take(MAX_VALUE_BYTES) {
        if byte.is_ascii_digit() {
            return true;
        }
        letters += 1;
    }
    // In `(Córdoba)` the first letter is not a word of its own.
    letters == 1 && byte_at(bytes, at + 1).is_ascii()
}

/// True if a digit precedes the separators before this position.
pub(super) fn continues_number(bytes: &[u8], start: usize, hold: GroupJoin) -> bool {
    if hold == GroupJoin::Token {
        return false;
    }
    let most = if hold == GroupJoin::Loose { 3 } else { 1 };
    let mut at = start;
    let mut seen = 0;
    while at > 0 && start - at < most {
        match separator(byte_before(bytes, at)) {
            0 => break,
            bit if hold == GroupJoin::Tight && bit & (BLANK | BRACKET) != 0 => break,
            bit => seen |= bit,
        }
        at -= 1;
    }
    let gap = start - at > 1 && seen & (BRACKET | HYPHEN) == 0 && !is_area_slash(bytes, at, start);
    at < start && at > 0 && !gap && byte_before(bytes, at).is_ascii_digit()
}

/// True for ` / ` after the area code of a phone number: `0351 / 86 22 714`.
fn is_area_slash(bytes: &[u8], from: usize, to: usize) -> bool {
    if bytes.get(from..to) != Some(b" / ") {
        return false;
    }
    let seen = bytes.get(from.saturating_sub(6)..from).unwrap_or_default();
    let digits = seen.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let start = from - digits;
    (3..=5).contains(&digits)
        && byte_at(bytes, start) == b'0'
        && !is_word_byte(byte_before(bytes, start))
        && separator(byte_before(bytes, start)) & !(BLANK | BRACKET) == 0
}

/// A quick test whether something may follow after separators here; errs towards true.
pub(super) fn may_continue(bytes: &[u8], end: usize) -> bool {
    if separator(byte_at(bytes, end)) == 0 {
        return false;
    }
    let next = byte_at(bytes, end + 1);
    next.is_ascii_digit()
        || separator(next) != 0
        || next.is_ascii_alphabetic() && is_group_of_number(bytes, end + 1)
}

/// The end of a UUID that begins with this token.
pub(super) fn uuid_end(bytes: &[u8], token: Token) -> Option<usize> {
    if token.end - token.start != 8 || byte_at(bytes, token.end) != b'-' {
        return None;
    }
    let rest = bytes.get(token.end..token.end + 28)?;
    let fits = rest.iter().enumerate().all(|(place, byte)| match place {
        0 | 5 | 10 | 15 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    (fits && !is_word_byte(byte_at(bytes, token.end + 28))).then_some(token.end + 28)
}
