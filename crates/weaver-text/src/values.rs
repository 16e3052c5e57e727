//! Extracts typed values from text in a canonical form, equal for different spellings of one value.
//!
//! There are three extractors. [`tokens_in_request`] extracts the values in a person's request;
//! [`tokens_in_reply`] those in a part of a reply, with its label if known; [`destinations`] every
//! address in a text, even if disguised. The first two are strict and the last is lenient, so that
//! a match between them can be relied on. Values match only as a whole: `example.com` does not
//! match `example.com.evil.net`, and 13 matches neither 130 nor the 13th of May.
//!
//! Look-alike letters are never folded here.
//!
//! ```
//! use weaver_text::values::{self, ValueClass, ValueToken};
//!
//! let mut found = Vec::new();
//! values::tokens_in_request("Send 12.00 to Bob@Example.com, please", &mut found);
//! assert!(found.contains(&ValueToken::new(ValueClass::Email, "bob@example.com")));
//! assert!(found.contains(&ValueToken::new(ValueClass::Amount, "12")));
//! ```

mod address;
mod cell;
mod code_name;
mod cues;
mod date;
mod domain;
mod gram;
mod number;
mod number_use;
mod pasted;
mod payee;
mod spelling;
mod stance;
mod word_tokens;

use crate::reveal::{self, Layer, Layers};

pub use self::address::{email, host, url};
pub use self::cell::{account, identifier, path, secret, tokens_in_reply};
pub use self::date::{Day, day, is_plain_day, is_time};
pub use self::gram::{GRAM, cued_name, edge_tokens, grams, words};
pub use self::number::number;
pub use self::payee::payees;
pub use self::spelling::{bare_values, is_displayed};
use self::spelling::{fold, fold_text, fold_value, spellings};

/// Maximum bytes of a text that are read; the rest is ignored.
pub const MAX_TEXT: usize = 256 * 1024;

/// The class of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ValueClass {
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
    /// A number that is not part of a date, a time or an identifier.
    Number = 7,
    /// A day: `2024-05-15`, or `05-15` without a year.
    Day = 8,
    /// An identifier, as written.
    Identifier = 9,
    /// A possible password, as written.
    Secret = 10,
    /// A name: words written like a proper name, or quoted.
    Name = 11,
    /// An n-gram of at most [`GRAM`] words.
    Phrase = 12,
    /// A name with an adjacent word that says what it names: `channel|general`.
    Cued = 13,
    /// A number that is not an amount of money, as it counts things.
    Count = 14,
}

impl ValueClass {
    /// The name of the class for messages.
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
            Self::Count => "quantity",
            Self::Day => "day",
            Self::Identifier => "identifier",
            Self::Secret => "secret",
            Self::Name | Self::Cued => "name",
            Self::Phrase => "text",
        }
    }
}

/// A value with its class, in canonical form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueToken {
    /// The class of the value.
    pub class: ValueClass,
    /// The canonical form, which is compared.
    pub key: String,
}

impl ValueToken {
    /// A token of this class with this canonical form.
    #[must_use]
    pub fn new(class: ValueClass, key: impl Into<String>) -> Self {
        Self { class, key: key.into() }
    }
}

/// Appends the values in a person's request to `out`. What is encoded in it is not read: the person
/// may not know what it says.
pub fn tokens_in_request(text: &str, out: &mut Vec<ValueToken>) {
    for text in spellings(text) {
        let words = word::words(&text);
        for (at, word) in words.iter().enumerate() {
            word_tokens::push_tokens(&words, at, word, out);
        }
        date::push_days(&words, out);
        gram::push_word_tokens(&words, out);
        cell::push_accounts(&words, out);
        out.extend(payee::payees(&text));
        // Lenient matches count as well, and a URL also gives its host.
        let mut found = Vec::new();
        address::find(&fold_confusable_separators(&text), false, &mut found);
        for token in found {
            if token.class == ValueClass::Url && !token.key.contains(['@', '\\']) {
                let host = token.key.split(['/', '?']).next().unwrap_or_default();
                out.push(ValueToken::new(ValueClass::Host, host));
            }
            out.push(token);
        }
    }
}

/// The values in a person's request, by whether the person asks for something with them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestTokens {
    /// The values in what the person asks for.
    pub asked: Vec<ValueToken>,
    /// The values that are only in pasted text (in a fence, behind `>`, in a quotation of several
    /// sentences), in a clause that denies, or in something encoded.
    pub mentioned: Vec<ValueToken>,
}

/// Extracts the values in a person's request as [`tokens_in_request`] does, and sets those apart
/// that the person only mentions.
#[must_use]
pub fn request_tokens(text: &str) -> RequestTokens {
    let mut tokens = RequestTokens::default();
    let text = truncate(text);
    tokens_in_request(text, &mut tokens.asked);
    if let Some(rest) = stance::without_mentions(text) {
        let mut asked = Vec::new();
        tokens_in_request(&rest, &mut asked);
        let asked: std::collections::HashSet<ValueToken> = asked.into_iter().collect();
        (tokens.asked, tokens.mentioned) =
            tokens.asked.into_iter().partition(|token| asked.contains(token));
        gram::push_edges(text, &mut tokens.mentioned);
    }
    // Characters that nobody sees say nothing, whatever they spell.
    let layers = Layers::ENCODED.without(Layer::Tag).with(Layer::Defanged);
    let mut views = Vec::new();
    reveal::views(text, layers, &mut views);
    for view in &views {
        address::find(&fold_confusable_separators(&view.text), false, &mut tokens.mentioned);
    }
    tokens
}

/// Whether a value has a sign at one of its ends that makes it another value than the name without
/// it: a pattern (`*web*`), a reference with a prefix (`:main`), a mention of everybody.
#[must_use]
pub fn has_signs(value: &str) -> bool {
    word::has_signs(value)
}

/// The e-mail addresses, URLs and hosts in a text, even if encoded, split by invisible characters
/// or defanged. False if the text was not read completely.
#[must_use]
pub fn destinations(text: &str) -> (Vec<ValueToken>, bool) {
    let mut out = Vec::new();
    let mut complete = text.len() <= MAX_TEXT;
    let text = truncate(text);
    complete &= address::find(&fold_confusable_separators(text), true, &mut out);
    let mut views = Vec::new();
    complete &= reveal::views(text, Layers::ENCODED.with(Layer::Defanged), &mut views);
    for view in &views {
        complete &= address::find(&fold_confusable_separators(&view.text), true, &mut out);
    }
    out.sort();
    out.dedup();
    (out, complete)
}

/// Folds the text, with look-alikes of slashes and colons replaced: readers may take them for those.
fn fold_confusable_separators(text: &str) -> String {
    let mut out = fold(text);
    if !out.is_ascii() {
        out = out.replace(['\u{2044}', '\u{2215}', '\u{29f8}', '\u{2571}'], "/");
        out = out.replace(['\u{2236}', '\u{a789}', '\u{2d0}'], ":");
    }
    out
}

fn truncate(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
mod word;
