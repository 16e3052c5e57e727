//! The handle store: all stored results of a tenant, within their budget.

use std::sync::{Arc, Mutex, MutexGuard};

use weaver_types::ledger::{
    BlobReference, BlobStore, Ledger, LedgerError, Namespace, Record, RecordKey,
};
use weaver_types::{Handle, HandleId, Random, RawResult, Tenant, Timestamp};

use super::budget::HandleBudget;
use super::encryption::HandleEncryptionKey;
use super::index::HandleIndex;
use super::open_result::{OpenResult, OpenResultCache};
use super::record::{BytesLocation, HandleRecord};
use super::stored_handle::{self, HandleGrant, StoredHandle, record_key};
use crate::error::HandleError;

/// Results up to this size are not cached: reading them again is fast enough.
const MIN_CACHED_BYTES: u64 = 4_096;

/// All stored results of one tenant. It knows their order, expiry and size, and which to evict for
/// a new one; the records themselves are in the ledger. A ledger has one store per tenant.
pub struct HandleStore {
    tenant: Tenant,
    budget: HandleBudget,
    key: Option<HandleEncryptionKey>,
    index: Mutex<HandleIndex>,
    open_results: Mutex<OpenResultCache>,
}

impl HandleStore {
    /// An empty store. If it has a key, results stored from now on are encrypted.
    #[must_use]
    pub fn new(tenant: Tenant, budget: HandleBudget, key: Option<HandleEncryptionKey>) -> Self {
        Self { tenant, budget, key, index: Mutex::default(), open_results: Mutex::default() }
    }

    /// Builds the store from a ledger by reading all its records once. A record that cannot be read
    /// is skipped; its handle is unusable.
    ///
    /// # Errors
    /// [`HandleError::Store`], when the ledger cannot be read.
    pub fn from_ledger(
        tenant: &Tenant,
        ledger: &dyn Ledger,
        budget: HandleBudget,
        seal: Option<HandleEncryptionKey>,
    ) -> Result<Self, HandleError> {
        let mut records = Vec::new();
        for found in ledger.all_records(tenant, Namespace::Handle) {
            let (id, record) = found?;
            records.extend(parse_record(&id, &record));
        }
        records.sort_by(|a, b| {
            let age = |record: &HandleRecord| record.handle.created_at;
            age(a).cmp(&age(b)).then_with(|| a.handle.handle_id.cmp(&b.handle.handle_id))
        });
        let mut index = HandleIndex::default();
        for record in &records {
            index.add(&record.handle, &record.bytes);
        }
        let handle_store = Self::new(tenant.clone(), budget, seal);
        Ok(Self { index: Mutex::new(index), ..handle_store })
    }

    /// Stores a result. Its bytes are written now; its record is returned for the batch that
    /// commits the call's outcome. That batch must also delete the records of evicted results. If
    /// the batch is refused, [`HandleStore::rollback`] undoes the call.
    ///
    /// # Errors
    /// [`HandleError::TooLarge`] if the result exceeds the size of one entry;
    /// [`HandleError::Unstorable`] if it exceeds the size of a blob or nests deeper than
    /// [`MAX_STORED_DEPTH`](super::MAX_STORED_DEPTH); [`HandleError::Store`] and
    /// [`HandleError::Random`] if those ports fail.
    pub fn store(
        &self,
        raw: &RawResult,
        grant: HandleGrant<'_>,
        blobs: &dyn BlobStore,
        random: &dyn Random,
    ) -> Result<StoredHandle, HandleError> {
        let mut new = stored_handle::encode(raw, grant, self.budget.ttl, random)?;
        self.budget.check_size(new.handle.byte_size)?;
        if let Some(key) = &self.key {
            new.seal(key, random)?;
        }
        // Equal bytes share one blob. Another thread must not remove that blob between writing it
        // and counting this use of it, so both happen under the lock.
        let mut index = self.index()?;
        let bytes = new.store_bytes(blobs)?;
        let put = new.to_put(&bytes)?;
        let handle = new.handle;
        index.add(&handle, &bytes);
        index.retry_orphaned_blob(blobs);
        index.evict(&self.budget, &handle.handle_id, grant.now, blobs);
        let removed = index.take_removals();
        drop(index);
        self.forget_open(&removed);
        let digest = blob_name(&bytes);
        let blob = match bytes {
            BytesLocation::Blob(blob) => Some(BlobReference { key: put.key.clone(), blob }),
            BytesLocation::Inline(_) => None,
        };
        Ok(StoredHandle { handle, put, delete: self.record_keys(&removed), blob, digest })
    }

    /// Undoes [`HandleStore::store`] after its batch was refused.
    pub fn rollback(&self, stored: &StoredHandle, blobs: &dyn BlobStore) {
        let Ok(mut index) = self.index() else { return };
        if let Some(blob) = index.remove_entry(&stored.handle.handle_id) {
            index.remove_blob(blob, blobs);
        }
        let evicted = stored.delete.iter().filter_map(|key| HandleId::parse(key.id.clone()).ok());
        index.requeue_removals(evicted.collect::<Vec<_>>());
    }

    /// Removes expired results and returns their record keys, which must be deleted too. If the
    /// list is not empty, there may be more.
    ///
    /// # Errors
    /// [`HandleError::Store`] if another thread panicked while it held the store.
    pub fn sweep(
        &self,
        now: Timestamp,
        blobs: &dyn BlobStore,
    ) -> Result<Vec<RecordKey>, HandleError> {
        let mut index = self.index()?;
        index.remove_expired(now, blobs);
        let removed = index.take_removals();
        drop(index);
        self.forget_open(&removed);
        Ok(self.record_keys(&removed))
    }

    /// Caches a result for later queries, unless it is small.
    pub fn keep_open(&self, stored: &StoredHandle, raw: RawResult) {
        let Handle { handle_id, byte_size, .. } = &stored.handle;
        if *byte_size > MIN_CACHED_BYTES
            && let Ok(mut open) = self.open_results.lock()
        {
            let result = OpenResult::new(raw, *byte_size, stored.digest.clone());
            open.put(handle_id.clone(), Arc::new(result));
        }
    }

    /// Opens the result of a record that [`authorized_record`](super::authorized_record) returned
    /// for the current caller.
    ///
    /// # Errors
    /// [`HandleError::Expired`] if the bytes were evicted; [`HandleError::Sealed`] if they are
    /// encrypted and this store has no key; [`HandleError::Damaged`] if they are not of the kind
    /// that the record says or do not decrypt; [`HandleError::Store`].
    pub fn open(
        &self,
        record: &HandleRecord,
        blobs: &dyn BlobStore,
    ) -> Result<Arc<OpenResult>, HandleError> {
        let handle = &record.handle;
        if let Some(open) =
            self.open_results.lock().ok().and_then(|mut open| open.get(&handle.handle_id))
        {
            return Ok(open);
        }
        let raw = stored_handle::read_content(record, blobs, self.key.as_ref())?;
        let result = Arc::new(OpenResult::new(raw, handle.byte_size, blob_name(&record.bytes)));
        if handle.byte_size > MIN_CACHED_BYTES
            && let Ok(mut open) = self.open_results.lock()
        {
            open.put(handle.handle_id.clone(), Arc::clone(&result));
        }
        Ok(result)
    }

    /// When the last of all stored results expires; `None` if there are none.
    ///
    /// # Errors
    /// [`HandleError::Store`] if another thread panicked while it held the store.
    pub fn latest_expiry(&self) -> Result<Option<Timestamp>, HandleError> {
        Ok(self.index()?.latest_expiry())
    }

    /// The number of stored results and their total bytes.
    ///
    /// # Errors
    /// [`HandleError::Store`] if another thread panicked while it held the store.
    pub fn usage(&self) -> Result<(usize, u64), HandleError> {
        let index = self.index()?;
        Ok((index.entries(), index.bytes()))
    }

    fn index(&self) -> Result<MutexGuard<'_, HandleIndex>, HandleError> {
        let died = || LedgerError::Failed("a thread died while it stored a result".to_owned());
        self.index.lock().map_err(|_| died().into())
    }

    fn record_keys(&self, ids: &[HandleId]) -> Vec<RecordKey> {
        ids.iter().map(|id| record_key(&self.tenant, id)).collect()
    }

    fn forget_open(&self, ids: &[HandleId]) {
        if !ids.is_empty()
            && let Ok(mut open) = self.open_results.lock()
        {
            for id in ids {
                open.forget(id);
            }
        }
    }
}

/// The name of the stored bytes, which is keyed by the blob store.
fn blob_name(bytes: &BytesLocation) -> Option<String> {
    match bytes {
        BytesLocation::Blob(blob) => Some(blob.to_string()),
        BytesLocation::Inline(_) => None,
    }
}

fn parse_record(id: &str, record: &Record) -> Option<HandleRecord> {
    let record = HandleRecord::from_bytes(id, &record.value).ok();
    // A record under another key is a copy, and its handle must not work.
    record.filter(|record| record.handle.handle_id.as_str() == id)
}

impl std::fmt::Debug for HandleStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HandleStore").field("budget", &self.budget).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::digest::{Digest, DomainTag};
    use weaver_types::ledger::BlobId;

    use super::*;

    #[test]
    fn stored_bytes_have_a_name_where_they_lie_in_a_store() {
        let blob = BlobId(Digest::of(DomainTag::BLOB, b"a"));
        let name = blob.to_string();
        assert_eq!(blob_name(&BytesLocation::Blob(blob)), Some(name));
        assert_eq!(blob_name(&BytesLocation::Inline("a".to_owned())), None);
    }
}
