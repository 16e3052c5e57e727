//! Blobs in the ledger's file.

use std::sync::Arc;

use weaver_types::ledger::{BlobId, BlobStore, LedgerError};

use super::queue::{BlobChange, Queue};
use super::reader::Snapshots;
use super::rows;
use crate::blob::{BlobKey, check_size};
use crate::prepare::PreparedBatch;

/// The blob store of a [`SqliteLedger`](super::SqliteLedger), named under a random key that the
/// file holds. Once the ledger is dropped it reads, but writes no more.
#[derive(Clone)]
pub struct SqliteBlobs {
    pub(super) key: Arc<BlobKey>,
    pub(super) queue: Arc<Queue>,
    pub(super) snapshots: Arc<Snapshots>,
}

impl SqliteBlobs {
    /// Sends one change through the writer, so that it stands in the write-ahead log before any
    /// batch that is committed later.
    fn change(&self, change: BlobChange, bytes: usize) -> Result<(), LedgerError> {
        let prepared = PreparedBatch { bytes: bytes + 64, ..PreparedBatch::default() };
        self.queue.submit(prepared, Some(change)).wait().map(drop)
    }
}

impl BlobStore for SqliteBlobs {
    fn put(&self, bytes: &[u8]) -> Result<BlobId, LedgerError> {
        check_size(bytes)?;
        let id = self.key.name(bytes)?;
        self.change(BlobChange::Put(id, bytes.to_vec()), bytes.len())?;
        Ok(id)
    }

    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, LedgerError> {
        let bytes = self.snapshots.with(|db| rows::blob(db, id))?;
        bytes.map(|bytes| self.key.check(id, bytes)).transpose()
    }

    fn remove(&self, id: &BlobId) -> Result<(), LedgerError> {
        self.change(BlobChange::Remove(*id), 0)
    }
}
