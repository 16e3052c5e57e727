//! The index beside a ledger file: which events say what, so that a question reads only its answer.
//!
//! It lies in `<ledger>.index`, is filled behind the commit in bounded steps, and says how far it
//! has come. It is derived from the log and never believed: [`ask`](crate::query::ask) reads and
//! tests each event that it proposes. It can be deleted at any time, and is made anew when it is
//! torn, of an older version, or of another log. What is pruned from the log leaves it.
//!
//! ```no_run
//! use weaver_trace_store::Reader;
//! use weaver_trace_store::index::Index;
//! use weaver_trace_store::query::{Filter, Question, ask};
//! use weaver_types::Timestamp;
//!
//! let log = Reader::open("ledger.db")?;
//! let index = Index::open("ledger.db", &log)?;
//! index.catch_up(&log, &mut |_, _| {})?;
//! let filter = Filter::parse(["reason:untrusted_influence"], Timestamp::from_micros(0))?;
//! let page = ask(&log, Some(&index), &Question::newest(filter))?;
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
pub use file::{INDEX_APPLICATION_ID, INDEX_VERSION, Index, Status};
pub use updater::IndexUpdater;
