//! The store: all stored results of a tenant, within their budget.

use std::sync::{Arc, Mutex, MutexGuard};

use weaver_types::ledger::{
    BlobStore, BlobUse, Ledger, LedgerError, MAX_PAGE, Namespace, Record, RecordKey,
};
use weaver_types::{Handle, HandleId, Random, RawResult, Tenant, Timestamp};

use super::budget::HandleBudget;
use super::index::Index;
use super::open_result::{OpenResult, OpenResults};
use super::record::{HandleRecord, StoredBytes};
use super::seal::HandleKey;
use super::stored_handle::{self, HandleGrant, StoredHandle, key};
use crate::error::HandleError;

/// Results up to this size are read again for each question, which is fast enough.
const MIN_OPEN: u64 = 4_096;

/// All stored results of one tenant. It knows their age and their end, and which must go for
/// something new; the records themselves are the ledger's. One ledger has one store a tenant.
pub struct HandleStore {
    tenant: Tenant,
    budget: HandleBudget,
    seal: Option<HandleKey>,
    index: Mutex<Index>,
    open: Mutex<OpenResults>,
}

impl HandleStore {
    /// An empty store. With a key, what is stored from now on is encrypted.
    #[must_use]
    pub fn new(tenant: Tenant, budget: HandleBudget, seal: Option<HandleKey>) -> Self {
        Self { tenant, budget, seal, index: Mutex::default(), open: Mutex::default() }
    }

    /// The store of a ledger: all its records are read once. A record that cannot be read is left
    /// alone; nobody can use its handle.
    ///
    /// # Errors
    /// [`HandleError::Store`], when the ledger cannot be read.
    pub fn load(
        tenant: &Tenant,
        ledger: &dyn Ledger,
        budget: HandleBudget,
        seal: Option<HandleKey>,
    ) -> Result<Self, HandleError> {
        let mut records = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = ledger.list(tenant, Namespace::Handle, after.as_deref(), MAX_PAGE)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            records.extend(page.into_iter().filter_map(|(id, record)| readable(&id, &record)));
        }
        records.sort_by(|a, b| {
            let age = |record: &HandleRecord| record.handle.created_at;
            age(a).cmp(&age(b)).then_with(|| a.handle.handle_id.cmp(&b.handle.handle_id))
        });
        let mut index = Index::default();
        for record in &records {
            index.add(&record.handle, &record.bytes);
        }
        let handle_store = Self::new(tenant.clone(), budget, seal);
        Ok(Self { index: Mutex::new(index), ..handle_store })
    }

    /// Stores a result: its bytes now, its record with the batch of the call's outcome. The
    /// batch must also remove the records that have to go for it. When that batch is refused,
    /// [`HandleStore::abandon`] takes it back.
    ///
    /// # Errors
    /// [`HandleError::TooLarge`], when it is larger than the budget allows for one;
    /// [`HandleError::Unstorable`], when it is larger than a blob or nests deeper than
    /// [`MAX_STORED_DEPTH`](super::MAX_STORED_DEPTH); [`HandleError::Store`] and
    /// [`HandleError::Random`], when those fail.
    pub fn store(
        &self,
        raw: &RawResult,
        grant: HandleGrant<'_>,
        blobs: &dyn BlobStore,
        random: &dyn Random,
    ) -> Result<StoredHandle, HandleError> {
        let mut new = stored_handle::encode(raw, grant, self.budget.ttl, random)?;
        self.budget.check(new.handle.byte_size)?;
        if let Some(key) = &self.seal {
            new.seal(key, random)?;
        }
        // Equal bytes are one blob. Nobody may remove it between its writing and the mark that
        // this result lies in it, so both happen under the lock.
        let mut index = self.index()?;
        let bytes = new.place(blobs)?;
        let put = new.to_put(&bytes)?;
        let handle = new.handle;
        index.add(&handle, &bytes);
        index.tidy(blobs);
        index.evict(&self.budget, &handle.handle_id, grant.now, blobs);
        let removed = index.removals();
        drop(index);
        self.close(&removed);
        let digest = digest(&bytes);
        let blob = match bytes {
            StoredBytes::Blob(blob) => Some(BlobUse { key: put.key.clone(), blob }),
            StoredBytes::Inline(_) => None,
        };
        Ok(StoredHandle { handle, put, delete: self.keys(&removed), blob, digest })
    }

    /// Takes back what [`HandleStore::store`] did, when its batch was refused.
    pub fn abandon(&self, stored: &StoredHandle, blobs: &dyn BlobStore) {
        let Ok(mut index) = self.index() else { return };
        if let Some(blob) = index.take(&stored.handle.handle_id) {
            index.remove(blob, blobs);
        }
        let again = stored.delete.iter().filter_map(|key| HandleId::parse(key.id.clone()).ok());
        index.again(again.collect::<Vec<_>>());
    }

    /// Removes results that have ended; gives their records, to be removed too. Empty when there
    /// are none; as long as it is not, there may be more.
    ///
    /// # Errors
    /// [`HandleError::Store`], when a thread died while it worked on the store.
    pub fn sweep(
        &self,
        now: Timestamp,
        blobs: &dyn BlobStore,
    ) -> Result<Vec<RecordKey>, HandleError> {
        let mut index = self.index()?;
        index.end(now, blobs);
        let removed = index.removals();
        drop(index);
        self.close(&removed);
        Ok(self.keys(&removed))
    }

    /// Keeps a result open for the questions to come, unless it is small.
    pub fn keep_open(&self, stored: &StoredHandle, raw: RawResult) {
        let Handle { handle_id, byte_size, .. } = &stored.handle;
        if *byte_size > MIN_OPEN
            && let Ok(mut open) = self.open.lock()
        {
            let result = OpenResult::new(raw, *byte_size, stored.digest.clone());
            open.put(handle_id.clone(), Arc::new(result));
        }
    }

    /// The result behind a record that [`load`](super::load) gave for whoever asks now.
    ///
    /// # Errors
    /// [`HandleError::Expired`], when the bytes were evicted; [`HandleError::Sealed`], when they
    /// are encrypted and this store has no key; [`HandleError::Damaged`], when they are not of
    /// the kind the record says or do not open under the key; [`HandleError::Store`].
    pub fn open(
        &self,
        record: &HandleRecord,
        blobs: &dyn BlobStore,
    ) -> Result<Arc<OpenResult>, HandleError> {
        let handle = &record.handle;
        if let Some(open) = self.open.lock().ok().and_then(|mut open| open.get(&handle.handle_id)) {
            return Ok(open);
        }
        let raw = stored_handle::content(record, blobs, self.seal.as_ref())?;
        let result = Arc::new(OpenResult::new(raw, handle.byte_size, digest(&record.bytes)));
        if handle.byte_size > MIN_OPEN
            && let Ok(mut open) = self.open.lock()
        {
            open.put(handle.handle_id.clone(), Arc::clone(&result));
        }
        Ok(result)
    }

    /// When the last of all stored results ends; `None` when there is none.
    ///
    /// # Errors
    /// [`HandleError::Store`], when a thread died while it held the store.
    pub fn last_end(&self) -> Result<Option<Timestamp>, HandleError> {
        Ok(self.index()?.last_end())
    }

    /// How many results are stored, and how many bytes they have.
    ///
    /// # Errors
    /// [`HandleError::Store`], when a thread died while it worked on the store.
    pub fn usage(&self) -> Result<(usize, u64), HandleError> {
        let index = self.index()?;
        Ok((index.entries(), index.bytes()))
    }

    fn index(&self) -> Result<MutexGuard<'_, Index>, HandleError> {
        let died = || LedgerError::Failed("a thread died while it stored a result".to_owned());
        self.index.lock().map_err(|_| died().into())
    }

    fn keys(&self, ids: &[HandleId]) -> Vec<RecordKey> {
        ids.iter().map(|id| key(&self.tenant, id)).collect()
    }

    fn close(&self, ids: &[HandleId]) {
        if !ids.is_empty()
            && let Ok(mut open) = self.open.lock()
        {
            for id in ids {
                open.forget(id);
            }
        }
    }
}

/// The name of the stored bytes under the store's key.
fn digest(bytes: &StoredBytes) -> Option<String> {
    match bytes {
        StoredBytes::Blob(blob) => Some(blob.to_string()),
        StoredBytes::Inline(_) => None,
    }
}

fn readable(id: &str, record: &Record) -> Option<HandleRecord> {
    let record = HandleRecord::from_bytes(id, &record.value).ok();
    // Under another key it is a copy: whoever asks for that one is given nothing.
    record.filter(|record| record.handle.handle_id.as_str() == id)
}

impl std::fmt::Debug for HandleStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HandleStore").field("budget", &self.budget).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::digest::{Digest, Tag};
    use weaver_types::ledger::BlobId;

    use super::*;

    #[test]
    fn stored_bytes_have_a_name_where_they_lie_in_a_store() {
        let blob = BlobId(Digest::of(Tag::BLOB, b"a"));
        let name = blob.to_string();
        assert_eq!(digest(&StoredBytes::Blob(blob)), Some(name));
        assert_eq!(digest(&StoredBytes::Inline("a".to_owned())), None);
    }
}
