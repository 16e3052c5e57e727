//! The text between a word and the number that it describes.

use super::candidate::{byte_at, byte_before};

/// The most letters between a word and an adjacent candidate: `phone no 5551234567`.
const MAX_SMALL_WORD_LETTERS: usize = 3;
/// The longest rest of a key after the word in it: `phone` in `"phone_number_of_home":`.
const MAX_REST_OF_KEY: usize = 24;

/// Keys that say nothing themselves, so that the value before them may:
/// `"type":"mobile","number":`.
const GENERIC_KEYS: [&[u8]; 19] = [
    b"number", b"no", b"nr", b"num", b"value", b"val", b"v", b"text", b"content", b"data", b"to",
    b"from", b"dest", b"destination", b"recipient", b"contact", b"input", b"digits", b"formatted",
];

/// True if a word ends the line above, as in `Phone number:`, and the candidate begins the next
/// line.
pub(super) fn is_on_line_above(gap: &[u8]) -> bool {
    let mut lines = gap.split(|byte| *byte == b'\n');
    let (above, below) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let sign = |byte: &u8| byte.is_ascii_whitespace() || b":*|\"'.".contains(byte);
    lines.next().is_none()
        && below.iter().all(sign)
        && above.len() <= 16
        && above.iter().all(|byte| sign(byte) || byte.is_ascii_alphabetic())
}

/// True if there is no other word in the gap.
pub(super) fn is_adjacent(gap: &[u8]) -> bool {
    let letters = gap.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    letters <= MAX_SMALL_WORD_LETTERS && !gap.iter().any(u8::is_ascii_digit)
}

/// True for a word, or the key that contains it, before a sign: it names what follows.
pub(super) fn names_what_follows(bytes: &[u8], to: usize) -> bool {
    let rest = bytes.get(to..bytes.len().min(to + MAX_REST_OF_KEY)).unwrap_or_default();
    let rest = rest.iter().take_while(|byte| is_key_byte(**byte)).count();
    let quoted = usize::from(matches!(byte_at(bytes, to + rest), b'"' | b'\''));
    matches!(byte_at(bytes, to + rest + quoted), b':' | b'=')
}

/// True for a word after the candidate that names it: `… - phone`, `… (móvil)`, `… is my phone`.
pub(super) fn names_from_behind(gap: &[u8]) -> bool {
    let says = [&b" is "[..], b" est ", b" ist ", b" es "].iter().any(|verb| gap.starts_with(verb));
    gap.len() <= 2
        || gap.len() <= 5 && gap.iter().all(|byte| b" -(/[|\xe2\x80\x93\x94".contains(byte))
        || gap.len() <= 12 && says
}

/// True if a word can describe the candidate at `start`: it is in the same object and not in
/// another field. The value of the previous field counts if the candidate's key says nothing.
pub(super) fn is_in_same_field(bytes: &[u8], word: std::ops::Range<usize>, start: usize) -> bool {
    let gap = bytes.get(word.end..start).unwrap_or_default();
    let closed = gap.iter().position(|byte| *byte == b'}');
    if closed.is_some_and(|at| gap.iter().skip(at).any(|byte| *byte == b'{')) {
        return false;
    }
    if is_in_other_element(bytes, word.start, start) {
        return false;
    }
    let Some(key) = key_before(gap) else { return true };
    let other = gap.get(..key.start).unwrap_or_default();
    let assigns = |byte: &u8| *byte == key.sign;
    let in_value = key.sign == b':' || is_value(bytes, word.start);
    !(other.iter().any(assigns) || in_value && !key.is_generic)
}

/// Elements of HTML, which say nothing about their text.
const HTML_TAGS: [&[u8]; 24] = [
    b"td", b"th", b"tr", b"a", b"b", b"i", b"u", b"p", b"em", b"dd", b"dt", b"li", b"br", b"div",
    b"span", b"font", b"code", b"pre", b"tt", b"small", b"strong", b"label", b"address", b"string",
];

/// True if the candidate is the text of an element of XML and the word is before the end of another:
/// `</DbtrAcct><EndToEndId>#`.
fn is_in_other_element(bytes: &[u8], word: usize, start: usize) -> bool {
    if byte_before(bytes, start) != b'>' {
        return false;
    }
    const MAX_TAG_BYTES: usize = 32;
    let run = bytes.get(word.saturating_sub(MAX_TAG_BYTES)..word).unwrap_or_default();
    let tag = run.iter().rposition(|byte| b"<>".contains(byte));
    let is_of_end = tag.is_some_and(|at| run.get(at..at + 2) == Some(b"</"));
    let between = bytes.get(word..start - 1).unwrap_or_default();
    let Some(open) = between.iter().rposition(|byte| *byte == b'<') else { return false };
    let name = between.get(open + 1..).unwrap_or_default();
    let is_known = |known: &[&[u8]]| known.iter().any(|tag| tag.eq_ignore_ascii_case(name));
    let before = between.get(..open).unwrap_or_default();
    (is_of_end || before.windows(2).any(|pair| pair == b"</"))
        && name.iter().all(|byte| is_key_byte(*byte))
        && !is_known(&HTML_TAGS)
        && !is_known(&GENERIC_KEYS)
}

/// True after the sign of an assignment: `type=phone`.
fn is_value(bytes: &[u8], at: usize) -> bool {
    let quoted = usize::from(matches!(byte_before(bytes, at), b'"' | b'\''));
    byte_before(bytes, at.saturating_sub(quoted)) == b'='
}

/// A key that begins in a gap and whose value begins at the end of the gap.
struct FieldKey {
    /// Where its separator from the previous field is.
    start: usize,
    sign: u8,
    is_generic: bool,
}

/// The key at the end of a gap, with the preceding comma or blank: `,"id":`, `,e:`, ` count=`.
fn key_before(gap: &[u8]) -> Option<FieldKey> {
    let opens = |byte: &&u8| matches!(byte, b' ' | b'"' | b'\'' | b'+' | b'(' | b'\\');
    let end = gap.len() - gap.iter().rev().take_while(opens).count();
    let sign = end.checked_sub(1).and_then(|at| gap.get(at)).copied()?;
    if !matches!(sign, b':' | b'=') {
        return None;
    }
    let closes = |byte: &&u8| matches!(byte, b' ' | b'"' | b'\'' | b'\\');
    let named = gap.get(..end - 1)?;
    let last = named.len() - named.iter().rev().take_while(closes).count();
    let name = named.get(..last)?;
    let first = last - name.iter().rev().take_while(|byte| is_key_byte(**byte)).count();
    let ahead = gap.get(..first)?;
    let quote = ahead.iter().rev().take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\')).count();
    let blanks = ahead.iter().rev().skip(quote).take_while(|byte| byte.is_ascii_whitespace());
    let blanks = blanks.count();
    let at = first.checked_sub(quote + blanks)?;
    let comma = at.checked_sub(1).and_then(|at| gap.get(at)) == Some(&b',');
    let begins = match sign {
        b':' => comma && (quote > 0 || blanks == 0),
        _ => {
            comma
                || blanks > 0
                || at.checked_sub(1).is_some_and(|at| b"&;?".contains(&byte_at(gap, at)))
        }
    };
    let name = name.get(first..)?;
    let is_generic = GENERIC_KEYS.iter().any(|known| known.eq_ignore_ascii_case(name));
    (begins && !name.is_empty()).then_some(FieldKey { start: at, sign, is_generic })
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_speaks_of_its_own_field() {
        for (text, expected) in [
            ("phone: #", true),
            ("{\"phone\":\"#", true),
            ("{\"phone\":{\"home\":\"#", true),
            ("{\"type\":\"phone\",\"number\":\"#", true),
            ("{type:\"phone\",value:#", true),
            ("type=phone number=#", true),
            ("phone number=#", true),
            ("a phone, Berlin office: #", true),
            ("{\"f\":\"phone\"},{\"e\":#", false),
            ("{\"type\":\"phone\",\"id\":#", false),
            ("{\"phone_type\":\"old\",\"number\":#", false),
            ("{f:\"phone\",e:#", false),
            ("kind=phone id=#", false),
            ("kind=\"phone\" id=#", false),
            ("phone_model=x9 number=#", false),
            ("<x></phone><EndToEndId>#", false),
            ("<phone>1</phone><OrderId>#", false),
            ("<phone><Home>#", true),
            ("<td>phone</td><td>#", true),
            ("<type>phone</type><number>#", true),
            ("</phone><EndToEndId> #", true),
            ("a=phone&b=#", false),
        ] {
            let start = text.find("phone").unwrap();
            let number = text.find('#').unwrap();
            let told = is_in_same_field(text.as_bytes(), start..start + 5, number);
            assert_eq!(told, expected, "{text}");
        }
    }
}
