//! Raw tool results in, bounded and redacted frames out.
//!
//! A [`Firewall`] turns a [`RawResult`](weaver_types::RawResult) into a
//! [`Frame`](weaver_types::Frame): facts or rows that a model may see, never more characters than
//! the budget of the call, with secrets and personal data masked and with a counted warning for
//! everything that was masked or left out. The rest stays behind a handle ([`handle`]), and a
//! drill-down ([`Firewall::expand`]) passes the same redaction and the same budget.
//!
//! What this crate deliberately is not: it decides nothing (whether a principal may look is the
//! policy's business), it calls nothing, and it keeps nothing. Records and blobs go through the
//! ports of `weaver-types`. It recognises patterns; it cannot know that a plain word is a secret.
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
//! - [`FrameSpec`], [`FrameBudget`]: what one frame may hold.
//! - [`SessionBudget`], [`Session`], [`Reservation`]: tokens over all calls of a session.
//! - [`FrameStream`], [`StreamItem`]: frames of a result that comes bit by bit.
//! - [`estimated_size`]: how long the JSON of a value is, without writing it.
//! - [`handle`]: stored results. [`HandleQuery`], [`view`]: questions about them, and other ways to
//!   look at them.
//! - [`suspicions`]: words in a tool's contract that speak to a model.
//! - [`HandleError`]: why a drill-down was refused.

mod budget;
mod content;
mod contract_text;
mod digits;
mod error;
mod firewall;
mod frame;
mod goal;
pub mod handle;
mod injection;
mod json;
mod query;
mod redact;
mod spec;
mod stream;
mod summary;
mod tabular;
pub mod view;

pub use budget::{Reservation, Session, SessionBudget};
pub use contract_text::{Suspicion, suspicions};
pub use error::HandleError;
pub use firewall::{Firewall, FirewallBuilder, RedactedText};
pub use frame::estimated_size;
pub use query::{Aggregate, Condition, Function, HandleQuery, Predicate, SortKey, ViewRequest};
#[cfg(feature = "work-meter")]
pub use redact::work_of;
pub use redact::{
    Counts, Disclosure, MASK, MaskTable, ResolvedArguments, RuleFileError, RuleName, Span,
    StreamRedactor, UnknownMask, ValueSource,
};
pub use spec::{FrameBudget, FrameSpec, Tokenizer};
pub use stream::{FrameStream, MAX_WHOLE, StreamEnd, StreamItem, StreamWhole};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
