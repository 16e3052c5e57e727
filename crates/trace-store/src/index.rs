//! A search index next to a ledger file, so that a query reads only the events it returns.
//!
//! The index is stored in `<ledger>.index`. It is filled after the commits in bounded steps and
//! records how far it has come. It is derived from the log and never trusted:
//! [`run_query`](crate::query::run_query) reads and tests each event that it proposes. It can be deleted at any
//! time, and is rebuilt when it is corrupt, has an older version or belongs to another log. Terms
//! of pruned events are removed from it.
//!
//! ```no_run
//! use weaver_trace_store::Reader;
//! use weaver_trace_store::index::Index;
//! use weaver_trace_store::query::{EventFilter, LogQuery, run_query};
//! use weaver_types::Timestamp;
//!
//! let log = Reader::open("ledger.db")?;
//! let index = Index::open("ledger.db", &log)?;
//! index.catch_up(&log, &mut |_, _| {})?;
//! let filter = EventFilter::parse(["reason:untrusted_influence"], Timestamp::from_micros(0))?;
//! let page = run_query(&log, Some(&index), &LogQuery::newest(filter))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod check;
mod error;
mod file;
mod lookup;
mod prune;
mod updater;

pub use check::IndexCheck;
pub use error::IndexError;
pub use file::{INDEX_APPLICATION_ID, INDEX_VERSION, Index, IndexStatus};
pub use updater::IndexUpdater;
