//! A fast check that recognises most canonical records without building a value.

use super::MAX_DEPTH;
use super::unescaped_text::find_special;

/// The largest magnitude of an integer.
const MAX_SAFE_INTEGER: u64 = 1 << 53;

/// True only for canonical bytes under [`Profile::Record`](super::Profile::Record). False means
/// "unknown": the caller then parses and rewrites the bytes to decide.
pub(super) fn is_surely_canonical(bytes: &[u8]) -> bool {
    if str::from_utf8(bytes).is_err() {
        return false;
    }
    let mut walk = CanonicalScanner { rest: bytes };
    walk.value(0).is_some() && walk.rest.is_empty()
}

/// The unread rest of the text. Every method returns `None` for "not sure".
struct CanonicalScanner<'a> {
    rest: &'a [u8],
}

impl<'a> CanonicalScanner<'a> {
    fn value(&mut self, depth: usize) -> Option<()> {
        match self.rest.first()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string().map(drop),
            b't' => self.take_word(b"true"),
            b'f' => self.take_word(b"false"),
            b'n' => self.take_word(b"null"),
            _ => self.integer(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.take_byte(b'{')?;
        if self.take_byte(b'}').is_some() {
            return (depth < MAX_DEPTH).then_some(());
        }
        let mut last: Option<&[u8]> = None;
        loop {
            let key = self.string()?;
            // For plain ASCII keys, byte order equals the order of UTF-16 code units.
            if !key.is_ascii() || key.contains(&b'\\') || last.is_some_and(|last| last >= key) {
                return None;
            }
            last = Some(key);
            self.take_byte(b':')?;
            self.nested_value(depth)?;
            if self.take_byte(b'}').is_some() {
                return Some(());
            }
            self.take_byte(b',')?;
        }
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.take_byte(b'[')?;
        if self.take_byte(b']').is_some() {
            return (depth < MAX_DEPTH).then_some(());
        }
        loop {
            self.nested_value(depth)?;
            if self.take_byte(b']').is_some() {
                return Some(());
            }
            self.take_byte(b',')?;
        }
    }

    fn nested_value(&mut self, depth: usize) -> Option<()> {
        if depth < MAX_DEPTH { self.value(depth + 1) } else { None }
    }

    /// Skips a string in the form that the writer produces, and returns the text between its
    /// quotes.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.take_byte(b'"')?;
        let text = self.rest;
        let mut length = 0_usize;
        loop {
            let left = text.get(length..)?;
            let plain = find_special(left)?;
            length += plain;
            match left.get(plain..)? {
                [b'"', rest @ ..] => {
                    self.rest = rest;
                    return text.get(..length);
                }
                [b'\\', b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => length += 2,
                [b'\\', b'u', b'0', b'0', high, low, ..] => {
                    let short = matches!((high, low), (b'0', b'8' | b'9' | b'a' | b'c' | b'd'));
                    if short || !matches!((high, low), (b'0' | b'1', b'0'..=b'9' | b'a'..=b'f')) {
                        return None;
                    }
                    length += 6;
                }
                _ => return None,
            }
        }
    }

    fn integer(&mut self) -> Option<()> {
        let negative = self.take_byte(b'-').is_some();
        let count = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at_checked(count)?;
        // No integer up to 2^53 has more than 16 digits.
        if !(1..=16).contains(&count) || (digits.first() == Some(&b'0') && (count > 1 || negative))
        {
            return None;
        }
        let value = digits.iter().fold(0_u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        self.rest = rest;
        (value <= MAX_SAFE_INTEGER).then_some(())
    }

    fn take_byte(&mut self, byte: u8) -> Option<()> {
        let (first, rest) = self.rest.split_first()?;
        if *first != byte {
            return None;
        }
        self.rest = rest;
        Some(())
    }

    fn take_word(&mut self, word: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::is_surely_canonical;
    use crate::canonical::{self, MAX_DEPTH, Profile, is_canonical};

    fn is_canonical_by_rewriting(bytes: &[u8]) -> bool {
        canonical::parse(bytes, Profile::Record)
            .and_then(|value| canonical::to_bytes(&value, Profile::Record))
            .is_ok_and(|written| written == bytes)
    }

    #[test]
    fn what_records_look_like_needs_no_closer_look() {
        for plain in [
            "{}",
            "[]",
            "0",
            "-1",
            "9007199254740992",
            "null",
            r#"{"a":[1,true,false,null,"x\u001f\"\\\n"],"ab":{},"b":"é"}"#,
        ] {
            assert!(
                is_canonical_by_rewriting(plain.as_bytes())
                    && is_surely_canonical(plain.as_bytes()),
                "{plain}"
            );
        }
        let deep = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
        assert!(
            is_surely_canonical(&deep(MAX_DEPTH)) && is_canonical_by_rewriting(&deep(MAX_DEPTH))
        );
        assert!(!is_canonical(&deep(MAX_DEPTH + 1), Profile::Record));
    }

    #[test]
    fn other_forms_are_not_taken_for_canonical() {
        for bad in [
            "", " 1", "1 ", "-0", "01", "-01", "+1", "1.0", "1e3", "9007199254740993", "-",
            "99999999999999999999", "tru", "nulll", "\"\\u0061\"", "\"\\u0009\"", "\"\\u001F\"",
            "\"\\/\"", "\"\t\"", "\"", "\"\\", "[1,]", "[,1]", "[1", "{", "{\"a\"}", "{\"a\":}",
            "{\"a\":1,}", "{\"b\":1,\"a\":2}", "{\"a\":1,\"a\":2}", "{\"ab\":1,\"a\":2}", "[1 ,2]",
            "\u{feff}{}", "{}{}",
        ] {
            assert!(!is_canonical(bad.as_bytes(), Profile::Record), "{bad}");
        }
        assert!(!is_canonical(b"\"\xff\"", Profile::Record));
        // The order of UTF-16 is not that of UTF-8 here.
        let keys = "{\"\u{1f600}\":1,\"\u{fb01}\":2}";
        assert!(
            !is_surely_canonical(keys.as_bytes()) && is_canonical(keys.as_bytes(), Profile::Record)
        );
    }

    proptest! {
        #[test]
        fn the_walk_agrees_with_reading_and_writing(
            text in r#"([\[\]{},:"\\ntrufalse0-9eE.+ -]|"[a-d]":|\\u00[01][0-9a-fA-F]|\\[bfnrt/]){0,12}"#,
        ) {
            prop_assert_eq!(is_canonical(text.as_bytes(), Profile::Record), is_canonical_by_rewriting(text.as_bytes()));
        }

        #[test]
        fn a_changed_byte_is_judged_alike(place in 0..90_usize, byte in any::<u8>()) {
            let text = r#"{"a":[10,-7,true,null,"x\u001f\"\\\n"],"ab":{"c":{}},"b":"é","k":9007199254740992}"#;
            let mut bytes = text.as_bytes().to_vec();
            prop_assert!(is_surely_canonical(&bytes));
            if let Some(changed) = bytes.get_mut(place) {
                *changed = byte;
            }
            prop_assert_eq!(is_canonical(&bytes, Profile::Record), is_canonical_by_rewriting(&bytes));
        }
    }
}
