//! Pure text functions for Weaver: normalisation, decoding, word splitting, stemming, globs, token counters.
//!
//! Every result depends on the arguments alone: no files, no network, no clock. No function
//! panics on any input, and each takes time linear in the length of the text.
//!
//! Out of scope: patterns for secrets, ranking and policy. Identifiers are never normalised:
//! folding serves matching only.
//!
//! ```
//! use weaver_text::{escape, glob::Glob, split};
//!
//! assert_eq!(split::words("listOpen_issues"), ["list", "open", "issues"]);
//! assert_eq!(escape::line("a\u{202e}b"), "a\\u{202e}b");
//! assert!(Glob::parse("tickets.*")?.matches("tickets.list"));
//! # Ok::<(), weaver_text::error::GlobError>(())
//! ```
//!
//! - [`normalise`]: strips invisible characters, with a map back to the input; folds text for matching.
//! - [`invisible`]: classifies characters that are not displayed.
//! - [`hidden`]: counts the hidden characters of a text by kind.
//! - `confusable`, with the feature of that name: names that look alike (UTS 39).
//! - [`escape`]: renders untrusted text with every hidden character visible; truncates at characters.
//! - [`byte_classes`]: bitmaps of byte classes, computed in one pass.
//! - [`reveal`]: decodes encodings and invisible characters, with a map back to the input.
//! - [`split`]: splits identifiers and prose into words.
//! - `stem`, with the feature of that name: stems of English words.
//! - [`stop`]: stop words.
//! - [`glob`]: anchored patterns with `*`.
//! - [`suggest`]: the known word nearest to a misspelt one.
//! - [`token`]: counts or estimates the tokens of a text.
//! - [`values`]: extracts addresses, hosts, amounts, days and names in comparable form.

pub mod byte_classes;
#[cfg(feature = "confusable")]
pub mod confusable;
pub mod error;
pub mod escape;
pub mod glob;
pub mod hidden;
pub mod invisible;
pub mod normalise;
pub mod reveal;
pub mod split;
#[cfg(feature = "stem")]
pub mod stem;
pub mod stop;
pub mod suggest;
pub mod token;
pub mod values;
mod work;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
