//! A walk that recognises most canonical records without building a value.

use super::MAX_DEPTH;
use super::unescaped_text::plain;

/// The largest magnitude of an integer.
const SAFE: u64 = 1 << 53;

/// True only for canonical bytes under [`Profile::Record`](super::Profile::Record). False where the
/// walk would have to look closer: then reading and writing decides.
pub(super) fn surely_record(bytes: &[u8]) -> bool {
    if str::from_utf8(bytes).is_err() {
        return false;
    }
    let mut walk = Walk { rest: bytes };
    walk.value(0).is_some() && walk.rest.is_empty()
}

/// What is left to look at. `None` of any step means "not sure".
struct Walk<'a> {
    rest: &'a [u8],
}

impl<'a> Walk<'a> {
    fn value(&mut self, depth: usize) -> Option<()> {
        match self.rest.first()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string().map(drop),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.integer(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.byte(b'{')?;
        if self.byte(b'}').is_some() {
            return (depth < MAX_DEPTH).then_some(());
        }
        let mut last: Option<&[u8]> = None;
        loop {
            let key = self.string()?;
            // Of plain ASCII the order of the bytes is that of the UTF-16 code units.
            if !key.is_ascii() || key.contains(&b'\\') || last.is_some_and(|last| last >= key) {
                return None;
            }
            last = Some(key);
            self.byte(b':')?;
            self.inner(depth)?;
            if self.byte(b'}').is_some() {
                return Some(());
            }
            self.byte(b',')?;
        }
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.byte(b'[')?;
        if self.byte(b']').is_some() {
            return (depth < MAX_DEPTH).then_some(());
        }
        loop {
            self.inner(depth)?;
            if self.byte(b']').is_some() {
                return Some(());
            }
            self.byte(b',')?;
        }
    }

    fn inner(&mut self, depth: usize) -> Option<()> {
        if depth < MAX_DEPTH { self.value(depth + 1) } else { None }
    }

    /// A string as the writer would write it; gives what stands between the quotes.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.byte(b'"')?;
        let text = self.rest;
        let mut length = 0_usize;
        loop {
            let left = text.get(length..)?;
            let plain = plain(left)?;
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
        let negative = self.byte(b'-').is_some();
        let count = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at_checked(count)?;
        // No integer up to 2^53 has more digits.
        if !(1..=16).contains(&count) || (digits.first() == Some(&b'0') && (count > 1 || negative))
        {
            return None;
        }
        let value = digits.iter().fold(0_u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        self.rest = rest;
        (value <= SAFE).then_some(())
    }

    fn byte(&mut self, byte: u8) -> Option<()> {
        let (first, rest) = self.rest.split_first()?;
        if *first != byte {
            return None;
        }
        self.rest = rest;
        Some(())
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::surely_record;
    use crate::canonical::{self, MAX_DEPTH, Profile, is_canonical};

    fn slowly(bytes: &[u8]) -> bool {
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
            assert!(slowly(plain.as_bytes()) && surely_record(plain.as_bytes()), "{plain}");
        }
        let deep = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
        assert!(surely_record(&deep(MAX_DEPTH)) && slowly(&deep(MAX_DEPTH)));
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
        assert!(!surely_record(keys.as_bytes()) && is_canonical(keys.as_bytes(), Profile::Record));
    }

    proptest! {
        #[test]
        fn the_walk_agrees_with_reading_and_writing(
            text in r#"([\[\]{},:"\\ntrufalse0-9eE.+ -]|"[a-d]":|\\u00[01][0-9a-fA-F]|\\[bfnrt/]){0,12}"#,
        ) {
            prop_assert_eq!(is_canonical(text.as_bytes(), Profile::Record), slowly(text.as_bytes()));
        }

        #[test]
        fn a_changed_byte_is_judged_alike(place in 0..90_usize, byte in any::<u8>()) {
            let text = r#"{"a":[10,-7,true,null,"x\u001f\"\\\n"],"ab":{"c":{}},"b":"é","k":9007199254740992}"#;
            let mut bytes = text.as_bytes().to_vec();
            prop_assert!(surely_record(&bytes));
            if let Some(changed) = bytes.get_mut(place) {
                *changed = byte;
            }
            prop_assert_eq!(is_canonical(&bytes, Profile::Record), slowly(&bytes));
        }
    }
}
