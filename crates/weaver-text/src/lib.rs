//! Pure text functions for Weaver: normalisation, identifier splitting, stemming, globs and token counters.
//!
//! Everything here is a function of its arguments: no files, no network, no clock. No function
//! panics, whatever the text, and none needs more than linear time in the length of the text.
//!
//! What this crate deliberately is not: it holds no patterns for secrets, no ranking and no
//! policy. Identifiers are never normalised: folding serves matching only.
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
//! - [`normalise`]: strip invisible characters with a map back to the input; fold for matching.
//! - [`invisible`]: which characters a reader does not see.
//! - [`hidden`]: how many characters of a text its reader does not see.
//! - `confusable`, with the feature of that name: which names a reader takes for one another.
//! - [`escape`]: render untrusted text so that a reader sees all of it; truncate safely.
//! - [`byte_classes`]: which bytes are of which class, found in one pass.
//! - [`reveal`]: undo what hides a value (encodings, unseen characters), with a map back.
//! - [`split`]: identifiers and prose into words.
//! - `stem`, with the feature of that name: stems of English words.
//! - [`stop`]: words without meaning for a search.
//! - [`glob`]: anchored patterns with `*`.
//! - [`suggest`]: "did you mean".
//! - [`token`]: counting tokens as a model's tokenizer does.
//! - [`values`]: what a text names (addresses, hosts, amounts, days, names), in comparable form.

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

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
