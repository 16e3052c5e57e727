//! Token counters: exact ones for published vocabularies, and estimates.
//!
//! A counter is selected explicitly, by name ([`counter`]) or by type. There is no default, because a
//! budget is meaningless without the vocabulary that it is counted in.
//!
//! | name | what it is | cost |
//! |---|---|---|
//! | `chars4` | [`CharsPerFour`]: characters / 4 | lowest |
//! | `estimate` | [`Estimate`]: aware of scripts, code and numbers | low |
//! | `cl100k_base`, `o200k_base` | `Tiktoken`: exact, with the feature `tiktoken` | a second per 5 to 20 MB |
//!
//! Without the feature `tiktoken` the exact counters are not available, and selecting one is an
//! error: an estimate never replaces a requested count.
//!
//! ```
//! use weaver_text::token::{self, Count};
//!
//! let counter = token::counter("chars4")?;
//! assert_eq!(counter.count("hello world"), Count::Tokens(3));
//! // A limit bounds the work: the rest of the text is not read.
//! assert!(!counter.within(&"hello world ".repeat(1_000_000), 100));
//! assert!(token::counter("o200k").is_err());
//! # Ok::<(), weaver_text::error::TokenError>(())
//! ```

mod estimate;
#[cfg(feature = "tiktoken")]
mod tiktoken;

pub use self::estimate::Estimate;
#[cfg(feature = "tiktoken")]
pub use self::tiktoken::Tiktoken;

use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::error::TokenError;
use crate::escape;

/// The length of the longest token of the vocabularies, a run of blanks, in bytes.
const MAX_TOKEN_BYTES: usize = 128;

/// The outcome of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// The number of tokens.
    Tokens(usize),
    /// The text could not be counted; treated as larger than any budget.
    Over,
}

impl Count {
    /// Whether the text has at most `limit` tokens. False if it could not be counted.
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

/// Counts the tokens of a text. Implementations must be deterministic and must not panic.
pub trait TokenCounter: Send + Sync {
    /// The name under which this counter is configured and recorded.
    fn name(&self) -> &str;

    /// The number of tokens in `text`.
    fn count(&self, text: &str) -> Count;

    /// The number of tokens in `text` if it is at most `limit`; otherwise any number above
    /// `limit`. The counters of this crate stop soon after passing the limit, so that it bounds
    /// the work.
    fn count_up_to(&self, text: &str, limit: usize) -> Count {
        let _ = limit;
        self.count(text)
    }

    /// Whether the count of a text is the sum of the counts of its pieces if it is split before a
    /// blank that follows a non-blank. Counts of words can then be cached.
    fn is_additive(&self) -> bool {
        false
    }

    /// The most tokens that `text` can have by its length, or `None` if only counting says it.
    fn most_tokens(&self, text: &str) -> Option<usize> {
        let _ = text;
        None
    }

    /// Whether `text` has at most `limit` tokens. May stop counting early.
    fn within(&self, text: &str, limit: usize) -> bool {
        self.count_up_to(text, limit).within(limit)
    }
}

/// One token for every four characters, rounded up: an estimate that needs no tables.
///
/// Suitable for English prose. Other text can have far more tokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct CharsPerFour;

impl TokenCounter for CharsPerFour {
    fn name(&self) -> &str {
        "chars4"
    }

    fn count(&self, text: &str) -> Count {
        Count::Tokens(text.chars().count().div_ceil(4))
    }

    fn count_up_to(&self, text: &str, limit: usize) -> Count {
        let most = limit.saturating_mul(4).saturating_add(1);
        Count::Tokens(text.chars().take(most).count().div_ceil(4))
    }
}

/// The names of all counters of this build, as [`counter`] takes them.
#[cfg(feature = "tiktoken")]
pub const NAMES: &[&str] = &["chars4", "estimate", "cl100k_base", "o200k_base"];
/// The names of all counters of this build, as [`counter`] takes them.
#[cfg(not(feature = "tiktoken"))]
pub const NAMES: &[&str] = &["chars4", "estimate"];

/// The counter with this name, one of [`NAMES`].
///
/// # Errors
/// Any other name; the error lists those that exist. [`TokenError::NotBuilt`] for an exact one in a
/// build without the feature `tiktoken`.
pub fn counter(name: &str) -> Result<Arc<dyn TokenCounter>, TokenError> {
    match name {
        "chars4" => Ok(Arc::new(CharsPerFour)),
        "estimate" => Ok(Arc::new(Estimate)),
        #[cfg(feature = "tiktoken")]
        "cl100k_base" => Ok(Arc::new(Tiktoken::CL100K)),
        #[cfg(feature = "tiktoken")]
        "o200k_base" => Ok(Arc::new(Tiktoken::O200K)),
        #[cfg(not(feature = "tiktoken"))]
        "cl100k_base" | "o200k_base" => Err(TokenError::NotBuilt { name: name.to_owned() }),
        _ => Err(unknown(name, "`chars4`, `estimate`, `cl100k_base`, `o200k_base`")),
    }
}

/// Counts the tokens of a value as displayed, such as a JSON value with its braces, quotes and keys.
/// Otherwise like [`TokenCounter::count_up_to`].
///
/// Formatting stops where the limit is certainly exceeded, at 128 bytes for each token of it. The
/// result is then [`Count::Over`], as it is if formatting fails.
///
/// ```
/// use weaver_text::token::{CharsPerFour, Count, count_displayed};
///
/// assert_eq!(count_displayed(&CharsPerFour, &12_345_678, 10), Count::Tokens(2));
/// ```
pub fn count_displayed(
    counter: &dyn TokenCounter,
    value: &dyn fmt::Display,
    limit: usize,
) -> Count {
    let mut out = BoundedText { text: String::new(), left: limit.saturating_mul(MAX_TOKEN_BYTES) };
    match write!(out, "{value}") {
        Ok(()) => counter.count_up_to(&out.text, limit),
        Err(_) => Count::Over,
    }
}

/// A string with a maximum size; writing beyond it fails.
struct BoundedText {
    text: String,
    left: usize,
}

impl fmt::Write for BoundedText {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.left = self.left.checked_sub(part.len()).ok_or(fmt::Error)?;
        self.text.push_str(part);
        Ok(())
    }
}

fn unknown(name: &str, known: &'static str) -> TokenError {
    let name = escape::excerpt(name, 64);
    TokenError::UnknownEncoding { name, known }
}

#[cfg(test)]
#[cfg(feature = "tiktoken")]
mod tests;

#[cfg(test)]
#[cfg(not(feature = "tiktoken"))]
mod tests_without_tables {
    use super::*;

    #[test]
    fn without_the_tables_estimates_count_and_exact_counters_are_an_error_that_says_so() {
        for name in NAMES {
            assert_eq!(counter(name).unwrap().name(), *name);
        }
        assert_eq!(NAMES, ["chars4", "estimate"]);
        for name in ["cl100k_base", "o200k_base"] {
            let error = counter(name).map(|_| ()).unwrap_err();
            assert_eq!(error.code(), "text.encoding_not_built");
            assert!(error.to_string().contains("chars4"), "{error}");
        }
        let error = counter("o200k").map(|_| ()).unwrap_err();
        assert_eq!(error.code(), "text.unknown_encoding");
        assert_eq!(CharsPerFour.count("hello world").tokens(), Some(3));
    }
}
