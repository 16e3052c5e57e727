//! Turns raw tool results into bounded and redacted frames.
//!
//! A [`Firewall`] turns a [`RawResult`](weaver_types::RawResult) into a
//! [`Frame`](weaver_types::Frame): facts or rows that a model may see. A frame never exceeds the
//! call's budget; secrets and personal data are masked, and a counted warning stands for everything
//! that was masked or left out. The whole result stays behind a handle ([`handle`]); a drill-down
//! ([`Firewall::expand`]) passes the same redaction and the same budget.
//!
//! What this crate deliberately does not do: it makes no access decisions (the policy does), calls
//! no tools and stores nothing itself. Records and blobs go through the ports of `weaver-types`. It
//! recognises patterns; it cannot know that a plain word is a secret.
//!
//! ```
//! use weaver_firewall::Firewall;
//!
//! let firewall = Firewall::new();
//! let redacted = firewall.redact_text("mail jane.roe@corp.example.com, password=hunter2!");
//! assert_eq!(redacted.text, "mail [REDACTED], password=[REDACTED]");
//! assert_eq!(redacted.counts.get("email"), Some(&1));
//! ```
//!
//! - [`Firewall`]: frames, drill-downs and redaction.
//! - [`FrameSpec`], [`FrameBudget`]: what one frame may contain.
//! - [`SessionBudget`], [`Session`], [`Reservation`]: tokens over all calls of a session.
//! - [`FrameStream`], [`StreamItem`]: frames of a result that arrives in chunks.
//! - [`json_len_within`]: the length of a value's JSON, without serialising it.
//! - [`handle`]: stored results. [`HandleQuery`], [`view`]: queries and views of them.
//! - [`suspicions`]: words in a tool's description that address a model.
//! - [`HandleError`]: why a drill-down was refused.

mod budget;
mod content;
mod decimal;
mod error;
mod firewall;
mod frame;
mod goal;
pub mod handle;
mod injection;
mod json_writer;
mod numbers;
mod query;
mod redact;
mod spec;
mod stream;
mod summary;
mod tabular;
mod tool_description_scan;
pub mod view;

pub use budget::{Reservation, Session, SessionBudget};
pub use error::HandleError;
pub use firewall::{Firewall, FirewallBuilder, RedactedText};
pub use frame::json_len_within;
pub use query::{
    Aggregate, AggregateFunction, Condition, HandleQuery, Predicate, SortKey, ViewRequest,
};
#[cfg(feature = "work-meter")]
pub use redact::scanned_bytes;
pub use redact::{
    Counts, Disclosure, MASK, MaskTable, ResolvedArguments, RuleDescription, RuleFileError, Span,
    StreamRedactor, UnknownMask, ValueSource,
};
pub use spec::{FrameBudget, FrameSpec, Tokenizer};
pub use stream::{FrameStream, MAX_COLLECTED_BYTES, StreamCollector, StreamEnd, StreamItem};
pub use tool_description_scan::{Suspicion, suspicions};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
