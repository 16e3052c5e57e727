//! The ledger trait, and the values that reading returns.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Batch, CommitTicket, Durability, LedgerError, Namespace, Record, RecordIter, RecordKey,
    all_records,
};
use crate::digest::Digest;
use crate::id::{LogId, Tenant};

/// The most records or events on one page.
pub const MAX_PAGE: usize = 1_000;

/// The tree head of a log: its size and the root of its Merkle tree (RFC 9162).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeHead {
    /// Which log.
    pub log: LogId,
    /// How many events.
    pub size: u64,
    /// The root hash over them.
    pub root: Digest,
}

/// A stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its sequence number, from 0.
    pub seq: u64,
    /// The canonical header; its hash is a leaf of the Merkle tree.
    pub header: Vec<u8>,
    /// The salt of the payload's commitment; `None` after pruning.
    pub salt: Option<Vec<u8>>,
    /// The payload; `None` after pruning.
    pub payload: Option<Vec<u8>>,
    /// How durable it was when it was acknowledged.
    pub durability: Durability,
}

/// An append-only log, and the small records that change together with it.
pub trait Ledger: Send + Sync {
    /// Submits a batch, which is shared so that the caller can submit it again. The ticket
    /// completes when the batch's durability is reached. A batch that need not be synced may be
    /// started only when somebody waits for its ticket or drops it; the waiting thread may do the
    /// work.
    fn submit(&self, batch: Arc<Batch>) -> CommitTicket;

    /// Submits a batch that the caller does not need any more.
    fn commit(&self, batch: Batch) -> CommitTicket {
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

    /// All records of a namespace, in the order of their ids. After an error there are no more.
    fn all_records<'a>(&'a self, tenant: &'a Tenant, namespace: Namespace) -> RecordIter<'a> {
        Box::new(all_records(move |after| self.list(tenant, namespace, after, MAX_PAGE)))
    }

    /// Reads events from `from` on, at most `limit` and [`MAX_PAGE`].
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn events(&self, from: u64, limit: usize) -> Result<Vec<StoredEvent>, LedgerError>;

    /// The committed head.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn head(&self) -> Result<TreeHead, LedgerError>;

    /// The head up to which events are known to be synced: nothing before it is lost with the
    /// machine. It advances when a batch with [`Durability::Disk`] completes, and possibly at other
    /// times.
    ///
    /// An empty [`Batch`] with [`Durability::Disk`] is a barrier: when its ticket completes,
    /// everything committed before it is synced, and the head of its receipt is a synced one.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn synced_head(&self) -> Result<TreeHead, LedgerError>;
}
