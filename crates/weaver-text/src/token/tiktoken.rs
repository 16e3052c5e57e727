//! Exact counts with published vocabularies.

use std::collections::HashSet;

use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

use super::{Count, LONGEST, TokenCounter, unknown};
use crate::error::TokenError;

/// Bytes after which a place to cut is looked for, so that a count with a small limit stays small.
const STEP: usize = 4 * 1024;

/// Largest piece, in bytes, that is handed to the tokenizer at once. A quarter of a megabyte of
/// one character makes it fail.
pub(super) const CHUNK: usize = 32 * 1024;

/// An exact count with a published vocabulary. The tables are built at the first count, once in
/// the process.
///
/// Text is counted in pieces of a few KiB that are cut behind a word, which changes nothing in
/// the count. Where 32 KiB have no such place (a long run of digits, blanks or signs, a blob of
/// base64), the cut may add a token or two. No text exhausts the tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiktoken {
    encoding: Encoding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Cl100k,
    O200k,
}

impl Tiktoken {
    /// The vocabulary of the GPT-4 generation.
    pub const CL100K: Self = Self { encoding: Encoding::Cl100k };
    /// The vocabulary of the GPT-4o generation.
    pub const O200K: Self = Self { encoding: Encoding::O200k };

    /// The counter for `cl100k_base` or `o200k_base`.
    ///
    /// # Errors
    /// Any other name.
    pub fn named(name: &str) -> Result<Self, TokenError> {
        match name {
            "cl100k_base" => Ok(Self::CL100K),
            "o200k_base" => Ok(Self::O200K),
            _ => Err(unknown(name, "`cl100k_base`, `o200k_base`")),
        }
    }

    pub(super) fn tables(self) -> &'static CoreBPE {
        match self.encoding {
            Encoding::Cl100k => cl100k_base_singleton(),
            Encoding::O200k => o200k_base_singleton(),
        }
    }
}

impl TokenCounter for Tiktoken {
    fn name(&self) -> &str {
        match self.encoding {
            Encoding::Cl100k => "cl100k_base",
            Encoding::O200k => "o200k_base",
        }
    }

    fn count(&self, text: &str) -> Count {
        self.count_up_to(text, usize::MAX)
    }

    fn count_up_to(&self, text: &str, limit: usize) -> Count {
        let tables = self.tables();
        let none = HashSet::new();
        let mut total = 0usize;
        let mut rest = text;
        while !rest.is_empty() && total <= limit {
            let (piece, after) = cut(rest);
            // Only the call that reports a failure: the others panic on it.
            match tables.count(piece, &none) {
                Ok(n) => total = total.saturating_add(n),
                Err(_) => return Count::Over,
            }
            rest = after;
        }
        Count::Tokens(total)
    }

    fn is_additive(&self) -> bool {
        true
    }

    fn within(&self, text: &str, limit: usize) -> bool {
        // A token has between one byte and `LONGEST`, so that most texts need no count.
        text.len() <= limit
            || (text.len() <= limit.saturating_mul(LONGEST)
                && self.count_up_to(text, limit).within(limit))
    }
}

/// Splits off a first piece of at most [`CHUNK`] bytes: at the last place between words in the
/// first [`STEP`] bytes, or else at the first one after that.
pub(super) fn cut(text: &str) -> (&str, &str) {
    if text.len() <= STEP {
        return (text, "");
    }
    let middle = text.floor_char_boundary(STEP / 2);
    let near = text.floor_char_boundary(STEP);
    let far = text.floor_char_boundary(CHUNK);
    let places = |from: usize, to: usize| {
        let part = text.get(from..to).unwrap_or_default();
        let pairs = part.char_indices().zip(part.chars().skip(1));
        pairs
            .filter(|((_, a), b)| is_between_words(*a, *b))
            .map(move |((i, a), _)| from + i + a.len_utf8())
    };
    let at = places(middle, near).last().or_else(|| places(near, far).next()).unwrap_or(far);
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// Whether every vocabulary splits a text between these two characters, whatever stands around.
fn is_between_words(a: char, b: char) -> bool {
    let word = a.is_ascii_alphanumeric()
        || matches!(a, '\u{3041}'..='\u{3096}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}');
    match b {
        ' ' => !a.is_whitespace(),
        '\n' | '\r' | ',' | '.' | ':' | ';' | '"' | '(' | ')' | '<' | '>' | '=' | '&' => word,
        '\u{3001}' | '\u{3002}' | '\u{ff0c}' | '\u{ff01}' | '\u{ff1f}' => word,
        _ => false,
    }
}
