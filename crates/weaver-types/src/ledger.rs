//! The ledger port: one way in which anything is recorded.
//!
//! A transaction across crates is a value, [`Batch`], applied whole or not at all. Crates return
//! parts of it, the kernel joins them, a [`Ledger`] applies them.

mod batch;
mod blob;
mod error;
mod key;
mod port;
mod receipt;
mod store;
mod ticket;

/// What tickets are made of; a model of them puts other things in its place.
mod sync {
    pub(super) use std::sync::{Arc, Condvar, Mutex};
}

pub use batch::{
    Add, Batch, BlobUse, Durability, Expect, MAX_BATCH_EVENTS, MAX_BATCH_PRUNE, MAX_PAYLOAD,
    NewEvent, Put, Replace,
};
pub use blob::{BlobId, BlobStore, MAX_BLOB};
pub use error::LedgerError;
pub use key::{Namespace, RecordKey};
pub use port::{Head, Ledger, MAX_PAGE, Record, StoredEvent};
pub use receipt::{HeadAfter, Heads, Receipt};
pub use store::RecordStore;
pub use ticket::{CommitLeader, Completer, Ticket};
