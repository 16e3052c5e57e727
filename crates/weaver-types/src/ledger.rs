//! The ledger port: the only way in which anything is recorded.
//!
//! A transaction across crates is a value, [`Batch`], which is applied atomically. Crates
//! contribute parts of it, the kernel joins the parts, and a [`Ledger`] applies the result.

mod batch;
mod blob;
mod error;
mod key;
mod port;
mod receipt;
mod record;
mod store;
mod ticket;

/// The synchronisation primitives of tickets. The model checker replaces them with its own.
mod sync {
    pub(super) use std::sync::{Arc, Condvar, Mutex};
}

pub use batch::{
    Batch, BlobReference, CounterChange, Durability, GuardedWrite, MAX_BATCH_EVENTS,
    MAX_BATCH_PRUNE, MAX_PAYLOAD, NewEvent, RecordWrite, VersionGuard,
};
pub use blob::{BlobId, BlobStore, MAX_BLOB};
pub use error::LedgerError;
pub use key::{Namespace, RecordKey};
pub use port::{Ledger, MAX_PAGE, StoredEvent, TreeHead};
pub use receipt::{CommitReceipt, HeadSource, LazyTreeHead};
pub use record::{Record, RecordIter, all_records};
pub use store::RecordStore;
pub use ticket::{CommitCompleter, CommitLeader, CommitTicket};
