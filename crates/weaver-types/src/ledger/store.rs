//! The record port: the records of a ledger without a log.

use super::{Batch, LedgerError, Namespace, Record, RecordKey};
use crate::id::Tenant;

/// Records that change together. Durable memory uses one, in a file of its own.
pub trait RecordStore: Send + Sync {
    /// Applies the guards, counters, writes and deletions of a batch atomically, and returns when
    /// its durability is reached. A batch with events, pruning or blob references is refused.
    ///
    /// # Errors
    /// [`LedgerError`]; nothing was applied when it is a refusal.
    fn apply(&self, batch: Batch) -> Result<(), LedgerError>;

    /// Reads one record.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError>;

    /// Reads records in the order of their ids, after `after`, at most `limit` and
    /// [`MAX_PAGE`](super::MAX_PAGE).
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
}
