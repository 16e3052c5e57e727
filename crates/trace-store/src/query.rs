//! Queries on the log: filters, pages, and the facts of one event.
//!
//! Results are read from the log itself. A [`CandidateLookup`], such as the index of a ledger file,
//! only proposes candidates: each is read and tested again, so a wrong lookup can hide an event or
//! cost time, but can never invent one. Events that a lookup does not cover are scanned.
//!
//! ```
//! use std::sync::Arc;
//! use weaver_trace_store::MemoryLedger;
//! use weaver_trace_store::query::{EventFilter, LogQuery, run_query};
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
//! let filter = EventFilter::parse(["principal:ann", "capability:files.*", "verdict:hold,deny"], now)?;
//! let page = run_query(&ledger, None, &LogQuery::newest(filter))?;
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

pub use cursor::{EventOrder, PageCursor};
pub use error::QueryError;
pub use facts::EventFacts;
pub use field::FilterField;
pub use filter::EventFilter;
pub use page::{
    CandidateLookup, LogQuery, MAX_PAGE_EVENTS, QueryPage, run_query, run_query_with_progress,
};
pub(crate) use page::{for_each_event, rows_in};
pub(crate) use span::range_of_filter;
#[cfg(feature = "sqlite")]
pub(crate) use terms::{fts_expression, index_terms};
pub use words::MAX_WORD_CHARS;
