//! Questions to the log: filters, pages and the facts of one event.
//!
//! An answer is read from the log itself. A [`Lookup`], such as the index beside a ledger file,
//! only proposes where to look: each proposed event is read and tested again, so a wrong lookup
//! can hide an event or cost time, and can never make one up. What a lookup does not know yet is
//! scanned.
//!
//! ```
//! use std::sync::Arc;
//! use weaver_trace_store::MemoryLedger;
//! use weaver_trace_store::query::{Filter, Question, ask};
//! use weaver_types::ledger::{Batch, Durability, Ledger, NewEvent};
//! use weaver_types::{EventKind, LogId, OsRandom, Timestamp};
//!
//! let ledger = MemoryLedger::new(LogId::parse("log_example")?, Arc::new(OsRandom));
//! let now = Timestamp::from_micros(1_700_000_000_000_000);
//! let event = NewEvent {
//!     kind: EventKind::Refused,
//!     at: now,
//!     run: None,
//!     call: None,
//!     payload: br#"{"capability":"files.wipe","principal":"ann","verdict":"deny"}"#.to_vec().into(),
//! };
//! ledger.commit(Batch::new(Durability::Disk).with_event(event)).wait()?;
//!
//! let filter = Filter::parse(["principal:ann", "capability:files.*", "verdict:hold,deny"], now)?;
//! let page = ask(&ledger, None, &Question::newest(filter))?;
//! assert_eq!(page.events.len(), 1);
//! assert_eq!(page.events[0].capability(), Some("files.wipe"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cursor;
mod error;
mod facts;
mod field;
mod filter;
mod page;
mod span;
#[cfg(feature = "sqlite")]
mod terms;
mod words;

pub use cursor::{Cursor, Order};
pub use error::QueryError;
pub use facts::Facts;
pub use field::Field;
pub use filter::Filter;
pub use page::{Lookup, MAX_FOUND, Page, Question, ask, ask_with};
pub(crate) use page::{each, rows_of};
pub(crate) use span::span_of;
#[cfg(feature = "sqlite")]
pub(crate) use terms::{expression, postings};
pub use words::MAX_WORD;
