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
    split(text, false)
}

/// The lower-case parts of an identifier: as [`words`], and also split between letters and
/// digits, so that `getUser2ByID` gives `get user 2 by id`.
pub fn identifier(text: &str) -> Vec<String> {
    split(text, true)
}

fn split(text: &str, digits: bool) -> Vec<String> {
    if is_nfkc(text) && !text.contains(is_invisible) {
        return Splitter::run(text.chars(), digits);
    }
    Splitter::run(text.chars().filter(|c| !is_invisible(*c)).nfkc(), digits)
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

#[derive(Default)]
struct Splitter {
    words: Vec<String>,
    current: String,
}

impl Splitter {
    fn run(chars: impl Iterator<Item = char>, digits: bool) -> Vec<String> {
        let mut this = Self::default();
        let mut chars = chars.peekable();
        let mut before = Class::Gap;
        while let Some(c) = chars.next() {
            let class = Class::of(c);
            let next = chars.peek().map_or(Class::Gap, |c| Class::of(*c));
            if starts_word(before, class, next, digits) {
                this.finish();
            }
            if class != Class::Gap {
                this.current.extend(c.to_lowercase());
            }
            before = class;
        }
        this.finish();
        this.words
    }

    fn finish(&mut self) {
        if !self.current.is_empty() {
            self.words.push(std::mem::take(&mut self.current));
        }
    }
}

fn starts_word(before: Class, class: Class, next: Class, digits: bool) -> bool {
    match (before, class) {
        (_, Class::Gap | Class::Alone) | (Class::Alone, _) => true,
        (Class::Lower, Class::Upper) => true,
        (Class::Upper, Class::Upper) => next == Class::Lower,
        (Class::Digit, Class::Upper) => digits || next == Class::Lower,
        (Class::Digit, Class::Lower) | (Class::Lower | Class::Upper, Class::Digit) => digits,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
