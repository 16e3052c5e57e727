//! Identifiers and prose into words.

use unicode_normalization::{UnicodeNormalization, is_nfkc};

use crate::invisible::is_invisible;

/// The lower-case words of a text.
///
/// Letters and digits of any script form words; everything else separates them. A word is split
/// where case changes (`listIssues`, `HTTPServer`), and each Chinese, Japanese or Korean character
/// stands alone. A digit stays with the letters before it (`base64`, `v2`). Invisible characters
/// are dropped and compatibility forms folded first, so that `ﬁle` and `file` are one word.
pub fn words(text: &str) -> Vec<String> {
    split(text, Digits::Join)
}

/// Calls with each word that [`words`] would give, in their order.
pub fn each_word(text: &str, each: impl FnMut(&str)) {
    split_into(text, Digits::Join, each);
}

/// The lower-case parts of an identifier: as [`words`], and also split between letters and
/// digits, so that `getUser2ByID` gives `get user 2 by id`.
pub fn identifier(text: &str) -> Vec<String> {
    split(text, Digits::Split)
}

/// Whether digits are words of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Digits {
    /// They belong to the letters beside them.
    Join,
    /// They are split from letters.
    Split,
}

fn split(text: &str, digits: Digits) -> Vec<String> {
    let mut words = Vec::new();
    split_into(text, digits, |word| words.push(word.to_owned()));
    words
}

fn split_into(text: &str, digits: Digits, mut each: impl FnMut(&str)) {
    if text.is_ascii() {
        let mut left = Some(text);
        while let Some(text) = left {
            let gap = text.bytes().position(|byte| !byte.is_ascii_alphanumeric());
            let (run, after) = text.split_at_checked(gap.unwrap_or(text.len())).unwrap_or_default();
            if is_word(run.as_bytes(), digits) {
                each(run);
            } else if !run.is_empty() {
                Splitter::run(run.chars(), digits, &mut each);
            }
            left = after.get(1..);
        }
    } else if is_nfkc(text) && !text.contains(is_invisible) {
        Splitter::run(text.chars(), digits, each);
    } else {
        Splitter::run(text.chars().filter(|c| !is_invisible(*c)).nfkc(), digits, each);
    }
}

/// True for letters and digits that are one lower-case word.
fn is_word(run: &[u8], digits: Digits) -> bool {
    let of_word =
        |byte: &u8| byte.is_ascii_lowercase() || digits == Digits::Join && byte.is_ascii_digit();
    !run.is_empty() && run.iter().all(of_word)
}

/// What a character does to the word being built.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Alone,
    Gap,
}

impl Class {
    fn of(c: char) -> Self {
        match c {
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            _ if c.is_ascii() => Self::Gap,
            '\u{3041}'..='\u{30fa}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{20000}'..='\u{323af}' => Self::Alone,
            _ if c.is_uppercase() => Self::Upper,
            _ if c.is_numeric() => Self::Digit,
            _ if c.is_alphanumeric() || is_mark(c) => Self::Lower,
            _ => Self::Gap,
        }
    }
}

/// Combining marks of the scripts that need them inside a word.
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

struct Splitter<F> {
    each: F,
    current: String,
}

impl<F: FnMut(&str)> Splitter<F> {
    fn run(chars: impl Iterator<Item = char>, digits: Digits, each: F) {
        let mut this = Self { each, current: String::new() };
        let mut chars = chars.map(|c| (c, Class::of(c))).peekable();
        let mut before = Class::Gap;
        while let Some((c, class)) = chars.next() {
            let next = chars.peek().map_or(Class::Gap, |(_, class)| *class);
            if starts_word(before, class, next, digits) {
                this.finish();
            }
            if class != Class::Gap {
                this.push(c);
            }
            before = class;
        }
        this.finish();
    }

    fn push(&mut self, c: char) {
        if c.is_ascii() {
            self.current.push(c.to_ascii_lowercase());
        } else {
            self.current.extend(c.to_lowercase());
        }
    }

    fn finish(&mut self) {
        if !self.current.is_empty() {
            (self.each)(&self.current);
            self.current.clear();
        }
    }
}

fn starts_word(before: Class, class: Class, next: Class, digits: Digits) -> bool {
    let splits = digits == Digits::Split;
    match (before, class) {
        (_, Class::Gap | Class::Alone) | (Class::Alone, _) => true,
        (Class::Lower, Class::Upper) => true,
        (Class::Upper, Class::Upper) => next == Class::Lower,
        (Class::Digit, Class::Upper) => splits || next == Class::Lower,
        (Class::Digit, Class::Lower) | (Class::Lower | Class::Upper, Class::Digit) => splits,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn plain_text_is_split_as_one_run(text in "[a-cA-C12 _-]{0,30}", splits: bool) {
            let digits = if splits { Digits::Split } else { Digits::Join };
            let mut words = Vec::new();
            Splitter::run(text.chars(), digits, |word| words.push(word.to_owned()));
            prop_assert_eq!(split(&text, digits), words);
        }
    }

    #[test]
    fn every_naming_style_gives_the_same_words() {
        for name in ["list_open_issues", "list-open.issues", "listOpenIssues", "List/Open:Issues"] {
            assert_eq!(words(name), ["list", "open", "issues"], "{name}");
        }
    }

    #[test]
    fn acronyms_and_digits() {
        assert_eq!(words("parseHTTPResponse"), ["parse", "http", "response"]);
        assert_eq!(words("base64 S3 sha256Sum"), ["base64", "s3", "sha256", "sum"]);
        assert_eq!(identifier("getUser2ByID"), ["get", "user", "2", "by", "id"]);
    }

    #[test]
    fn other_scripts_are_kept() {
        assert_eq!(words("Größe ändern"), ["größe", "ändern"]);
        assert_eq!(words("搜索 files"), ["搜", "索", "files"]);
        assert_eq!(words("de\u{200b}lete ﬁle"), ["delete", "file"]);
        assert_eq!(words("हिन्दी"), ["हिन्दी"]);
        assert!(words(" .,-/ ").is_empty());
    }

    #[test]
    fn plain_text_is_read_as_any_other() {
        for text in ["listIssues2 of HTTPServer, v2.5-beta\n", "", "A b_C 9Z9 zZ \u{7f}\0"] {
            // A character that separates, and is not of the plain ones.
            let other = words(&format!("{text}\u{2014}"));
            assert_eq!(words(text), other);
            let mut each = Vec::new();
            each_word(text, |word| each.push(word.to_owned()));
            assert_eq!(each, other);
        }
    }
}
