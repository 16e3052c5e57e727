//! Exact token counts with published vocabularies.

use std::collections::HashSet;

use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

use super::{Count, MAX_TOKEN_BYTES, TokenCounter, unknown};
use crate::error::TokenError;

/// Usual maximum size of a piece, so that a count with a small limit does little work.
const PIECE_BYTES: usize = 4 * 1024;

/// Maximum size of a piece. The tokenizer fails on a quarter of a megabyte of one repeated
/// character.
pub(super) const MAX_PIECE_BYTES: usize = 32 * 1024;

/// Counts exactly with a published vocabulary. The tables are built once for each process, at the
/// first count.
///
/// Text is counted in pieces of a few KiB, split after a word, which does not change the count.
/// Where 32 KiB have no word boundary (a long run of digits, blanks or signs, base64), the split may
/// add a token or two.
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
    pub fn from_name(name: &str) -> Result<Self, TokenError> {
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
            let (piece, after) = split_piece(rest);
            // The only call that reports failures; the others panic.
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

    /// A token has at least one byte.
    fn most_tokens(&self, text: &str) -> Option<usize> {
        Some(text.len())
    }

    fn within(&self, text: &str, limit: usize) -> bool {
        // A token has 1 to `MAX_TOKEN_BYTES` bytes, so that most texts need no count.
        text.len() <= limit
            || (text.len() <= limit.saturating_mul(MAX_TOKEN_BYTES)
                && self.count_up_to(text, limit).within(limit))
    }
}

/// Splits off a piece of at most [`MAX_PIECE_BYTES`] bytes: at the last word boundary within
/// [`PIECE_BYTES`], or at the first one after that.
pub(super) fn split_piece(text: &str) -> (&str, &str) {
    if text.len() <= PIECE_BYTES {
        return (text, "");
    }
    let middle = text.floor_char_boundary(PIECE_BYTES / 2);
    let near = text.floor_char_boundary(PIECE_BYTES);
    let far = text.floor_char_boundary(MAX_PIECE_BYTES);
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

/// Whether every vocabulary splits between these two characters, in any context.
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
