//! Counting tokens as a model's tokenizer does.

use std::collections::HashSet;

use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

use crate::error::TokenError;
use crate::escape;

/// Largest piece, in bytes, that is handed to the tokenizer at once.
const CHUNK: usize = 128 * 1024;

/// How far before the end of a piece a better place to cut is looked for.
const LOOK_BACK: usize = 256;

/// The outcome of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// This many tokens.
    Tokens(usize),
    /// The text could not be counted: treat it as larger than every budget.
    Over,
}

impl Count {
    /// Whether the text fits into `limit` tokens. What could not be counted never fits.
    pub fn within(self, limit: usize) -> bool {
        matches!(self, Self::Tokens(n) if n <= limit)
    }

    /// The number of tokens, if the text could be counted.
    pub fn tokens(self) -> Option<usize> {
        match self {
            Self::Tokens(n) => Some(n),
            Self::Over => None,
        }
    }
}

/// Counts the tokens of a text. Implementations are deterministic and do not panic.
pub trait TokenCounter: Send + Sync {
    /// The name under which this counter is configured and recorded.
    fn name(&self) -> &str;

    /// The number of tokens in `text`.
    fn count(&self, text: &str) -> Count;

    /// Whether `text` fits into `limit` tokens. May stop counting early.
    fn within(&self, text: &str, limit: usize) -> bool {
        self.count(text).within(limit)
    }
}

/// One token for every four characters, rounded up: an estimate that needs no tables.
#[derive(Debug, Clone, Copy, Default)]
pub struct CharsPerFour;

impl TokenCounter for CharsPerFour {
    fn name(&self) -> &str {
        "chars4"
    }

    fn count(&self, text: &str) -> Count {
        Count::Tokens(text.chars().count().div_ceil(4))
    }
}

/// An exact count with a published vocabulary. The tables are built at the first count, once in
/// the process.
///
/// Text over 128 KiB is counted in pieces, so that no text can exhaust the tokenizer; the pieces
/// are cut between words where there are words.
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

    fn tables(self) -> &'static CoreBPE {
        match self.encoding {
            Encoding::Cl100k => cl100k_base_singleton(),
            Encoding::O200k => o200k_base_singleton(),
        }
    }

    /// Counts until the text ends or `limit` is passed.
    fn count_up_to(self, text: &str, limit: usize) -> Count {
        let tables = self.tables();
        let none = HashSet::new();
        let mut total = 0usize;
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = cut(rest);
            match tables.count(piece, &none) {
                Ok(n) => total = total.saturating_add(n),
                Err(_) => return Count::Over,
            }
            if total > limit {
                break;
            }
            rest = after;
        }
        Count::Tokens(total)
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

    fn within(&self, text: &str, limit: usize) -> bool {
        // A token is at least one byte, so a text with few bytes fits without a count.
        text.len() <= limit || self.count_up_to(text, limit).within(limit)
    }
}

/// The counter with this name: `chars4`, `cl100k_base` or `o200k_base`.
///
/// # Errors
/// Any other name.
pub fn counter(name: &str) -> Result<Box<dyn TokenCounter>, TokenError> {
    if name == CharsPerFour.name() {
        return Ok(Box::new(CharsPerFour));
    }
    match Tiktoken::named(name) {
        Ok(counter) => Ok(Box::new(counter)),
        Err(_) => Err(unknown(name, "`chars4`, `cl100k_base`, `o200k_base`")),
    }
}

fn unknown(name: &str, known: &'static str) -> TokenError {
    let name = escape::line(escape::truncate(name, 64)).into_owned();
    TokenError::UnknownEncoding { name, known }
}

/// Splits off a first piece of at most [`CHUNK`] bytes, between a letter and a blank if there is
/// such a place near its end, otherwise between two characters.
fn cut(text: &str) -> (&str, &str) {
    if text.len() <= CHUNK {
        return (text, "");
    }
    let end = text.floor_char_boundary(CHUNK);
    let from = text.floor_char_boundary(end.saturating_sub(LOOK_BACK));
    let between_words = text.get(from..end).and_then(|tail| {
        let blank = tail.as_bytes().windows(3).rposition(
            |w| matches!(w, [a, b' ', c] if a.is_ascii_alphabetic() && c.is_ascii_alphabetic()),
        )?;
        Some(from + blank + 1)
    });
    text.split_at_checked(between_words.unwrap_or(end)).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests;
