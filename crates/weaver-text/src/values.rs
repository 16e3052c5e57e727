//! Typed values in text: what a text names, in a form in which two writings of one thing are equal.
//!
//! Three readings, each for one side of a comparison. [`said`] gives what the words of a person
//! name; [`told`] what a piece of somebody's answer does, where its label is known;
//! [`destinations`] what a text could send somebody to, also where that is hidden. The first two
//! are narrow and the last is wide, so that a comparison which finds an equal value can be relied
//! on. Nothing is compared by parts: `example.com` is not found in `example.com.evil.net`, and 13
//! not in 130 or in the 13th of May.
//!
//! Letters that look alike are never made equal here: this is no place to be lenient.
//!
//! ```
//! use weaver_text::values::{self, Class, Token};
//!
//! let mut found = Vec::new();
//! values::said("Send 12.00 to Bob@Example.com, please", &mut found);
//! assert!(found.contains(&Token::new(Class::Email, "bob@example.com")));
//! assert!(found.contains(&Token::new(Class::Amount, "12")));
//! ```

mod address;
mod cell;
mod chunk;
mod domain;
mod gram;
mod moment;
mod number;

use unicode_normalization::UnicodeNormalization;

use crate::invisible::is_invisible;
use crate::reveal::{self, Layer, Layers};

pub use self::address::{email, host, url};
pub use self::cell::{account, identifier, path, secret, told};
pub use self::gram::{GRAM, cued_name, grams, words};
pub use self::moment::{Day, day, is_time};
pub use self::number::number;

/// The longest text that is read, in bytes; what is beyond is not read.
pub const MAX_TEXT: usize = 256 * 1024;

/// What kind of thing a token names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// An e-mail address, in lower case.
    Email = 1,
    /// A host, in lower case.
    Host = 2,
    /// A URL without `http://`, `https://` and its fragment.
    Url = 3,
    /// A path or the name of a file.
    Path = 4,
    /// An account: letters and digits, in upper case.
    Account = 5,
    /// A number that is an amount of money.
    Amount = 6,
    /// A number that is no part of a date, a time or an identifier.
    Number = 7,
    /// A day: `2024-05-15`, or `05-15` where no year was said.
    Day = 8,
    /// What names one thing among others, as it is written.
    Identifier = 9,
    /// What may be a password, as it is written.
    Secret = 10,
    /// A name: words that are written as names are.
    Name = 11,
    /// Words that follow each other, at most [`GRAM`].
    Phrase = 12,
    /// Words beside a word that says what they name: `channel|general`.
    Cued = 13,
}

impl Class {
    /// Its name in words, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Email => "e-mail address",
            Self::Host => "host",
            Self::Url => "URL",
            Self::Path => "path",
            Self::Account => "account",
            Self::Amount => "amount",
            Self::Number => "number",
            Self::Day => "day",
            Self::Identifier => "identifier",
            Self::Secret => "secret",
            Self::Name | Self::Cued => "name",
            Self::Phrase => "text",
        }
    }
}

/// A value with its kind, in the form in which it is compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// What kind of thing it names.
    pub class: Class,
    /// The form in which it is compared.
    pub key: String,
}

impl Token {
    /// A token.
    #[must_use]
    pub fn new(class: Class, key: impl Into<String>) -> Self {
        Self { class, key: key.into() }
    }
}

/// What the words of a person name. Appends to `out`.
pub fn said(text: &str, out: &mut Vec<Token>) {
    let text = plain(text);
    let words = word::words(&text);
    for (at, word) in words.iter().enumerate() {
        chunk::tokens(&words, at, word, out);
    }
    moment::days(&words, out);
    gram::push_word_tokens(&words, out);
    cell::accounts(&words, out);
    // What the wide reading finds in these words is theirs too, and a URL names its host.
    for token in destinations(&text).0 {
        if token.class == Class::Url && !token.key.contains(['@', '\\']) {
            let host = token.key.split(['/', '?']).next().unwrap_or_default();
            out.push(Token::new(Class::Host, host));
        }
        out.push(token);
    }
}

/// What a text could send somebody to: e-mail addresses, URLs and hosts, also encoded, split by
/// what nobody sees, or defanged. False when the text could not be read whole.
#[must_use]
pub fn destinations(text: &str) -> (Vec<Token>, bool) {
    let mut out = Vec::new();
    let mut complete = text.len() <= MAX_TEXT;
    let text = cut(text);
    address::find(&wide(text), &mut out);
    let mut views = Vec::new();
    complete &= reveal::views(text, Layers::ENCODED.with(Layer::Defanged), &mut views);
    for view in &views {
        address::find(&wide(&view.text), &mut out);
    }
    out.sort();
    out.dedup();
    (out, complete)
}

/// The same with what looks like a slash or a colon as one: readers of texts may take it for one.
fn wide(text: &str) -> String {
    let mut out = fold(text);
    if !out.is_ascii() {
        out = out.replace(['\u{2044}', '\u{2215}', '\u{29f8}', '\u{2571}'], "/");
        out = out.replace(['\u{2236}', '\u{a789}', '\u{2d0}'], ":");
    }
    out
}

/// Compatibility forms as plain ones, and nothing that nobody sees.
fn fold(text: &str) -> String {
    if text.is_ascii() && !text.contains(is_invisible) {
        return text.to_owned();
    }
    text.chars().filter(|c| !is_invisible(*c) || c.is_whitespace()).nfkc().collect()
}

fn plain(text: &str) -> String {
    let text = cut(text);
    if text.is_ascii() { fold(text) } else { fold(&number::joined(text)) }
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
mod word;
