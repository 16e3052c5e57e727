//! Candidates: groups of letters and digits with separators, read once and normalised.

/// The longest stretch that can be one value, in bytes.
pub(super) const LONGEST: usize = 64;
/// The most letters and digits of one value.
const CAPACITY: usize = 40;

/// True for bytes of a word.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// The byte at a place, or a blank outside the text.
pub(super) fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(b' ')
}

/// The byte before a place, or a blank.
pub(super) fn before(bytes: &[u8], at: usize) -> u8 {
    at.checked_sub(1).map_or(b' ', |at| byte(bytes, at))
}

/// A run of letters and digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    /// No letters in it.
    pub(super) digits: bool,
    /// Hexadecimal digits in lower case, as many as hashes have.
    pub(super) hash: bool,
}

impl Token {
    /// The token around a digit. The second part is false for a run longer than any value.
    pub(super) fn around(bytes: &[u8], at: usize) -> (Self, bool) {
        let floor = at.saturating_sub(LONGEST);
        let mut start = at;
        while start > floor && is_word(before(bytes, start)) {
            start -= 1;
        }
        let mut end = at;
        let mut digits = start == at;
        let in_hash = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let mut hash = bytes.get(start..at).unwrap_or_default().iter().all(|byte| in_hash(*byte));
        while let Some(byte) = bytes.get(end).copied().filter(|byte| is_word(*byte)) {
            digits &= byte.is_ascii_digit();
            hash &= in_hash(byte);
            end += 1;
        }
        hash &= !digits && end - start >= 8;
        let fits = end - start <= LONGEST && !(start > 0 && is_word(before(bytes, start)));
        (Self { start, end, digits, hash }, fits)
    }
}

/// The end of `2026-11-21T10:20:30`, with or without a fraction: a time of day makes a date no
/// date of birth, and none of its numbers anything else.
pub(super) fn timestamp_end(bytes: &[u8], at: usize) -> Option<usize> {
    const FORM: &[u8; 19] = b"dddd-dd-ddTdd:dd:dd";
    if byte(bytes, at + 4) != b'-' || is_word(before(bytes, at)) {
        return None;
    }
    let text = bytes.get(at..at + FORM.len())?;
    let fits = text.iter().zip(FORM).all(|(byte, form)| match form {
        b'd' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b' '),
        sign => byte == sign,
    });
    let mut end = at + FORM.len();
    if fits && matches!(byte(bytes, end), b'.' | b',') {
        let rest = bytes.get(end + 1..).unwrap_or_default();
        end += 1 + rest.iter().take(9).take_while(|b| b.is_ascii_digit()).count();
    }
    (fits && !byte(bytes, end).is_ascii_digit()).then_some(end)
}

/// How tightly groups must hang together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupJoin {
    /// Blanks and brackets join too.
    Loose,
    /// One hyphen, point or slash joins.
    Tight,
    /// Nothing joins: one token.
    Token,
}

/// Groups with what stands between them.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    pub(super) start: usize,
    pub(super) end: usize,
    compact: [u8; CAPACITY],
    len: usize,
    /// Bit `k`: the character `k` is a letter.
    pub(super) letters: u64,
    /// Bit `k`: a separator stands before the character `k`.
    pub(super) breaks: u64,
    sizes: [u8; 16],
    count: usize,
    /// All separators that occur, as bits of [`separator`].
    pub(super) separators: u8,
    /// Every separator is a single byte.
    pub(super) simple: bool,
    /// Some letter is in lower case.
    pub(super) lower: bool,
}

pub(super) const BLANK: u8 = 1;
pub(super) const HYPHEN: u8 = 2;
pub(super) const POINT: u8 = 4;
pub(super) const SLASH: u8 = 8;
pub(super) const BRACKET: u8 = 16;

/// The bit of a separator, none for other bytes.
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

impl Cluster {
    /// The groups from a place on, or nothing when they are too many or too long for a value.
    pub(super) fn gather(bytes: &[u8], start: usize, hold: GroupJoin) -> Option<Self> {
        let mut cluster = Self {
            start,
            end: start,
            compact: [0; CAPACITY],
            len: 0,
            letters: 0,
            breaks: 0,
            sizes: [0; 16],
            count: 0,
            separators: 0,
            simple: true,
            lower: false,
        };
        let mut at = start;
        loop {
            at = cluster.group(bytes, at)?;
            cluster.end = at;
            let Some(next) = cluster.join(bytes, at, hold) else { break };
            at = next;
        }
        Some(cluster)
    }

    /// Takes one group.
    fn group(&mut self, bytes: &[u8], start: usize) -> Option<usize> {
        let mut at = start;
        while let Some(byte) = bytes.get(at).copied().filter(|byte| is_word(*byte)) {
            *self.compact.get_mut(self.len)? = byte.to_ascii_uppercase();
            if byte.is_ascii_alphabetic() {
                self.letters |= 1 << self.len;
                self.lower |= byte.is_ascii_lowercase();
            }
            self.len += 1;
            at += 1;
        }
        *self.sizes.get_mut(self.count)? = u8::try_from(at - start).ok()?;
        self.count += 1;
        Some(at)
    }

    /// The start of the next group, if one is joined here.
    fn join(&mut self, bytes: &[u8], end: usize, hold: GroupJoin) -> Option<usize> {
        if hold == GroupJoin::Token {
            return None;
        }
        let most = if hold == GroupJoin::Loose { 3 } else { 1 };
        let mut seen = 0;
        let mut at = end;
        while at < end + most {
            match separator(byte(bytes, at)) {
                0 => break,
                bit if hold == GroupJoin::Tight && bit & (BLANK | BRACKET) != 0 => break,
                bit => seen |= bit,
            }
            at += 1;
        }
        if at == end || at >= bytes.len() || !joins(bytes, at) {
            return None;
        }
        // Two blanks, or a full stop and a blank, are a gap between things.
        if at - end > 1 && seen & (BRACKET | HYPHEN) == 0 && !is_behind_area(bytes, end, at) {
            return None;
        }
        self.separators |= seen;
        self.simple &= at - end == 1 && seen & BRACKET == 0;
        self.breaks |= 1_u64.checked_shl(u32::try_from(self.len).ok()?)?;
        Some(at)
    }

    /// The letters and digits, letters in upper case.
    pub(super) fn compact(&self) -> &[u8] {
        self.compact.get(..self.len).unwrap_or_default()
    }

    /// How many letters and digits there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The lengths of the groups.
    pub(super) fn sizes(&self) -> &[u8] {
        self.sizes.get(..self.count).unwrap_or_default()
    }

    /// True when nothing stands between the letters and digits.
    pub(super) fn is_one(&self) -> bool {
        self.count == 1
    }
}

/// True when the token at this place goes on with what stands before it: it has a digit, or is a
/// single letter.
fn joins(bytes: &[u8], at: usize) -> bool {
    let token = bytes.get(at..).unwrap_or_default().iter().take_while(|byte| is_word(**byte));
    let mut letters = 0;
    for byte in token.take(LONGEST) {
        if byte.is_ascii_digit() {
            return true;
        }
        letters += 1;
    }
    // In `(Córdoba)` the first letter is no word of its own.
    letters == 1 && byte(bytes, at + 1).is_ascii()
}

/// True when a digit stands right before the separators before this place.
pub(super) fn continues(bytes: &[u8], start: usize, hold: GroupJoin) -> bool {
    if hold == GroupJoin::Token {
        return false;
    }
    let most = if hold == GroupJoin::Loose { 3 } else { 1 };
    let mut at = start;
    let mut seen = 0;
    while at > 0 && start - at < most {
        match separator(before(bytes, at)) {
            0 => break,
            bit if hold == GroupJoin::Tight && bit & (BLANK | BRACKET) != 0 => break,
            bit => seen |= bit,
        }
        at -= 1;
    }
    let gap = start - at > 1 && seen & (BRACKET | HYPHEN) == 0 && !is_behind_area(bytes, at, start);
    at < start && at > 0 && !gap && before(bytes, at).is_ascii_digit()
}

/// True for ` / ` between two places behind the area of a phone number: `0351 / 86 22 714`.
fn is_behind_area(bytes: &[u8], from: usize, to: usize) -> bool {
    if bytes.get(from..to) != Some(b" / ") {
        return false;
    }
    let seen = bytes.get(from.saturating_sub(6)..from).unwrap_or_default();
    let digits = seen.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let start = from - digits;
    (3..=5).contains(&digits)
        && byte(bytes, start) == b'0'
        && !is_word(before(bytes, start))
        && separator(before(bytes, start)) & !(BLANK | BRACKET) == 0
}

/// True when something may go on after separators here; quick, and true rather than false.
pub(super) fn is_joined(bytes: &[u8], end: usize) -> bool {
    if separator(byte(bytes, end)) == 0 {
        return false;
    }
    let next = byte(bytes, end + 1);
    next.is_ascii_digit()
        || separator(next) != 0
        || next.is_ascii_alphabetic() && joins(bytes, end + 1)
}

/// The end of a UUID whose first group this token is.
pub(super) fn uuid_end(bytes: &[u8], token: Token) -> Option<usize> {
    if token.end - token.start != 8 || byte(bytes, token.end) != b'-' {
        return None;
    }
    let rest = bytes.get(token.end..token.end + 28)?;
    let fits = rest.iter().enumerate().all(|(place, byte)| match place {
        0 | 5 | 10 | 15 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    (fits && !is_word(byte(bytes, token.end + 28))).then_some(token.end + 28)
}
