//! Decodes percent-encoding and HTML character references.

/// Maximum length of a character reference, in bytes.
const MAX_REFERENCE_BYTES: usize = 24;

/// The end and the character of the percent-encoding at `at`.
pub(super) fn percent(bytes: &[u8], at: usize) -> Option<(usize, char)> {
    if let Some(b'u' | b'U') = bytes.get(at + 1) {
        let code = number(bytes.get(at + 2..at + 6)?, 16)?;
        return Some((at + 6, char::from_u32(code)?));
    }
    let first = octet(bytes, at)?;
    let more = match first {
        0..=0x7f => return Some((at + 3, char::from(first))),
        0xc2..=0xdf => 1,
        0xe0..=0xef => 2,
        0xf0..=0xf4 => 3,
        _ => return None,
    };
    let mut buffer = [first, 0, 0, 0];
    for (i, slot) in buffer.iter_mut().enumerate().take(more + 1).skip(1) {
        *slot = octet(bytes, at + 3 * i)?;
    }
    let text = std::str::from_utf8(buffer.get(..=more)?).ok()?;
    Some((at + 3 * (more + 1), text.chars().next()?))
}

fn octet(bytes: &[u8], at: usize) -> Option<u8> {
    match bytes.get(at..at + 3)? {
        [b'%', digits @ ..] => number(digits, 16).and_then(|n| u8::try_from(n).ok()),
        _ => None,
    }
}

/// Parses an unsigned number; `None` on other bytes or on overflow.
pub(super) fn number(digits: &[u8], radix: u32) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits
        .iter()
        .try_fold(0u32, |n, b| n.checked_mul(radix)?.checked_add(char::from(*b).to_digit(radix)?))
}

/// The end and the meaning of the character reference at `at`.
pub(super) fn char_reference(bytes: &[u8], at: usize) -> Option<(usize, CharReference)> {
    let rest = bytes.get(at + 1..bytes.len().min(at + MAX_REFERENCE_BYTES))?;
    if let [b'#', rest @ ..] = rest {
        let (digits, radix, prefix) = match rest {
            [b'x' | b'X', digits @ ..] => (digits, 16, 3),
            _ => (rest, 10, 2),
        };
        let len = digits.iter().take_while(|b| char::from(**b).is_digit(radix)).count();
        let c = char::from_u32(number(digits.get(..len)?, radix)?)?;
        let closed = usize::from(digits.get(len) == Some(&b';'));
        return Some((at + prefix + len + closed, CharReference::Char(c)));
    }
    let len = rest.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
    if rest.get(len) != Some(&b';') {
        return None;
    }
    let reference = named_reference(rest.get(..len)?)?;
    Some((at + len + 2, reference))
}

/// The meaning of a character reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CharReference {
    Char(char),
    /// An invisible character.
    Unseen,
}

/// Resolves the named references that can occur inside a value or at its boundary.
fn named_reference(name: &[u8]) -> Option<CharReference> {
    let c = match name {
        b"amp" | b"AMP" => '&',
        b"lt" | b"LT" => '<',
        b"gt" | b"GT" => '>',
        b"quot" | b"QUOT" => '"',
        b"apos" => '\'',
        b"nbsp" | b"ensp" | b"emsp" | b"thinsp" | b"hairsp" | b"numsp" | b"puncsp" => ' ',
        b"commat" => '@',
        b"period" => '.',
        b"colon" => ':',
        b"semi" => ';',
        b"comma" => ',',
        b"sol" => '/',
        b"bsol" => '\\',
        b"lowbar" | b"UnderBar" => '_',
        b"hyphen" | b"dash" => '-',
        b"num" => '#',
        b"percnt" => '%',
        b"dollar" => '$',
        b"excl" => '!',
        b"quest" => '?',
        b"ast" | b"midast" => '*',
        b"plus" => '+',
        b"equals" => '=',
        b"lpar" => '(',
        b"rpar" => ')',
        b"lsqb" | b"lbrack" => '[',
        b"rsqb" | b"rbrack" => ']',
        b"lcub" | b"lbrace" => '{',
        b"rcub" | b"rbrace" => '}',
        b"verbar" | b"vert" | b"VerticalLine" => '|',
        b"grave" => '`',
        b"Hat" => '^',
        b"Tab" => '\t',
        b"NewLine" => '\n',
        b"shy" | b"zwj" | b"zwnj" | b"lrm" | b"rlm" | b"NoBreak" | b"ZeroWidthSpace"
        | b"InvisibleTimes" | b"InvisibleComma" | b"ApplyFunction" | b"af" | b"ic" | b"it" => {
            return Some(CharReference::Unseen);
        }
        _ => return None,
    };
    Some(CharReference::Char(c))
}
