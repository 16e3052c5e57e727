//! The blob store in the ledger's file.

use std::sync::Arc;

use weaver_types::ledger::{BlobId, BlobStore, LedgerError};

use super::queue::{BlobChange, Queue};
use super::reader::SnapshotReader;
use super::rows;
use crate::blob::{BlobKey, check_size};
use crate::prepare::PreparedBatch;

/// The blob store of a [`SqliteLedger`](super::SqliteLedger). Blobs are named with a random key
/// that the file holds. After the ledger is dropped it can still read, but not write.
#[derive(Clone)]
pub struct SqliteBlobs {
    pub(super) key: Arc<BlobKey>,
    pub(super) queue: Arc<Queue>,
    pub(super) snapshots: Arc<SnapshotReader>,
}

impl SqliteBlobs {
    /// Sends a change through the writer, so that it precedes later batches in the write-ahead log.
    fn change(&self, change: BlobChange, bytes: usize) -> Result<(), LedgerError> {
        let prepared = PreparedBatch { bytes: bytes + 64, ..PreparedBatch::default() };
        self.queue.submit(prepared, Some(change)).wait().map(drop)
    }
}

impl BlobStore for SqliteBlobs {
    fn put(&self, bytes: &[u8]) -> Result<BlobId, LedgerError> {
        check_size(bytes)?;
        let id = self.key.blob_id(bytes)?;
        self.change(BlobChange::Put(id, bytes.to_vec()), bytes.len())?;
        Ok(id)
    }

    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, LedgerError> {
        let bytes = self.snapshots.with(|db| rows::blob(db, id))?;
        bytes.map(|bytes| self.key.verify(id, bytes)).transpose()
    }

    fn remove(&self, id: &BlobId) -> Result<(), LedgerError> {
        self.change(BlobChange::Remove(*id), 0)
    }
}
