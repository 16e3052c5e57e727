//! Counting tokens as a model's tokenizer does.
//!
//! A counter is named explicitly, by [`counter`] or by its type; there is no default, because a
//! budget means nothing without the vocabulary that it is counted in.
//!
//! | name | what it is | cost |
//! |---|---|---|
//! | `chars4` | [`CharsPerFour`]: characters / 4 | lowest |
//! | `estimate` | [`Estimate`]: aware of scripts, code and numbers | low |
//! | `cl100k_base`, `o200k_base` | `Tiktoken`: exact, with the feature `tiktoken` | a second per 5 to 20 MB |
//!
//! Without the feature `tiktoken` the two exact ones are not there, and asking for one by name is an
//! error that says so: an estimate never stands in for a count that was asked for.
//!
//! ```
//! use weaver_text::token::{self, Count};
//!
//! let counter = token::counter("chars4")?;
//! assert_eq!(counter.count("hello world"), Count::Tokens(3));
//! // A limit bounds the work: the rest of the text is not looked at.
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

/// Bytes in the longest token of the vocabularies: a run of blanks.
const LONGEST: usize = 128;

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

    /// The number of tokens in `text` if it has at most `limit`; otherwise any number above
    /// `limit`. The counters of this crate stop soon after they have passed it, so that the work
    /// depends on the limit and not on the text.
    fn count_up_to(&self, text: &str, limit: usize) -> Count {
        let _ = limit;
        self.count(text)
    }

    /// Whether the count of a text is the sum of the counts of its pieces, where it is cut before a
    /// blank that stands behind something other than a blank. A word then has to be counted once.
    fn is_additive(&self) -> bool {
        false
    }

    /// Whether `text` fits into `limit` tokens. May stop counting early.
    fn within(&self, text: &str, limit: usize) -> bool {
        self.count_up_to(text, limit).within(limit)
    }
}

/// One token for every four characters, rounded up: an estimate that needs no tables.
///
/// It is made for English prose. Other text can have far more tokens than it says.
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

/// Counts what a value looks like when it is written out, such as a JSON value: its braces, quotes
/// and keys are tokens too. As [`TokenCounter::count_up_to`] otherwise.
///
/// Writing stops where the limit is passed for certain, at 128 bytes for every token of it; the
/// outcome is then [`Count::Over`], as it is if the value cannot be written.
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
    let mut out = BoundedText { text: String::new(), left: limit.saturating_mul(LONGEST) };
    match write!(out, "{value}") {
        Ok(()) => counter.count_up_to(&out.text, limit),
        Err(_) => Count::Over,
    }
}

/// Text that refuses to grow past its room.
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
    let name = escape::line(escape::truncate(name, 64)).into_owned();
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
