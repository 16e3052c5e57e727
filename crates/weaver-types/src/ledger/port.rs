//! The port itself, and what reading gives.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Batch, Durability, LedgerError, Namespace, RecordKey, Ticket};
use crate::digest::Digest;
use crate::id::{LogId, Tenant};

/// The most that one page of records or events holds.
pub const MAX_PAGE: usize = 1_000;

/// The head of the log: its size and the root of its Merkle tree (RFC 9162).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Which log.
    pub log: LogId,
    /// How many events.
    pub size: u64,
    /// The root over them.
    pub root: Digest,
}

/// A stored record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Grows by one with each write.
    pub version: u64,
    /// Its value.
    pub value: Vec<u8>,
}

/// A stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its place in the log, from 0.
    pub seq: u64,
    /// The canonical header; its leaf hash stands in the tree.
    pub header: Vec<u8>,
    /// The salt of the payload's commitment; `None` when pruned.
    pub salt: Option<Vec<u8>>,
    /// The payload; `None` when pruned.
    pub payload: Option<Vec<u8>>,
    /// How safe it was when it was acknowledged.
    pub durability: Durability,
}

/// The append-only log and the small records that change with it.
pub trait Ledger: Send + Sync {
    /// Applies a batch, which is shared with whoever may have to submit it once more. The ticket is
    /// done when the batch's durability is reached. A batch that need not be synced may be begun only
    /// once somebody waits for its ticket, or drops it; the thread that waits may do the work.
    fn submit(&self, batch: Arc<Batch>) -> Ticket;

    /// Applies a batch that nobody else needs.
    fn commit(&self, batch: Batch) -> Ticket {
        self.submit(Arc::new(batch))
    }

    /// Reads one record.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError>;

    /// Reads records in the order of their ids, after `after`, at most `limit` and [`MAX_PAGE`].
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn list(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError>;

    /// Reads events from `from` on, at most `limit` and [`MAX_PAGE`].
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn events(&self, from: u64, limit: usize) -> Result<Vec<StoredEvent>, LedgerError>;

    /// The committed head.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn head(&self) -> Result<Head, LedgerError>;

    /// The head up to which events are known to be synced: nothing before it is lost with the
    /// machine. It moves when a batch with [`Durability::Disk`] is done, and may move by itself.
    ///
    /// A [`Batch`] with nothing in it but [`Durability::Disk`] is a barrier: when its ticket is
    /// done, everything committed before it is synced, and the head of its receipt is one that is.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn synced_head(&self) -> Result<Head, LedgerError>;
}
