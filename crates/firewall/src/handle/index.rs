//! An in-memory index of stored results by insertion order and expiry. It is rebuilt from the
//! ledger in one pass and never stored.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use ahash::RandomState;
use weaver_types::ledger::{BlobId, BlobStore};
use weaver_types::{Handle, HandleId, Timestamp};

use super::budget::HandleBudget;
use super::record::BytesLocation;

/// The most record removals handed out by one call; the others wait for later calls.
const MAX_REMOVED: usize = 256;
/// The most expired handles removed by one call.
const MAX_ENDED: usize = 64;
/// The most blobs remembered for another attempt after their removal failed.
const MAX_ORPHANS: usize = 4_096;

/// One stored result.
#[derive(Debug, Clone)]
struct Entry {
    sequence: u64,
    expires_at: Timestamp,
    size: u64,
    blob: Option<BlobId>,
}

/// The index of all stored results of a tenant.
#[derive(Debug, Default)]
pub(super) struct HandleIndex {
    entries: HashMap<HandleId, Entry, RandomState>,
    /// Handles by insertion order.
    by_sequence: BTreeMap<u64, HandleId>,
    /// Expiry times with the sequence number of the entry.
    by_expiry: BTreeSet<(Timestamp, u64)>,
    /// Reference counts of blobs, since equal bytes are stored once.
    blob_refs: BTreeMap<BlobId, u32>,
    total_bytes: u64,
    next_sequence: u64,
    /// Removed results whose records are still to be deleted.
    pending_removals: VecDeque<HandleId>,
    /// Blobs whose removal failed.
    orphaned_blobs: VecDeque<BlobId>,
}

impl HandleIndex {
    pub(super) fn entries(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The latest expiry of any entry.
    pub(super) fn latest_expiry(&self) -> Option<Timestamp> {
        self.by_expiry.last().map(|(end, _)| *end)
    }

    pub(super) fn add(&mut self, handle: &Handle, bytes: &BytesLocation) {
        let id = handle.handle_id.clone();
        let blob = match bytes {
            BytesLocation::Inline(_) => None,
            BytesLocation::Blob(blob) => Some(*blob),
        };
        if let Some(blob) = blob {
            let count = self.blob_refs.entry(blob).or_default();
            *count = count.saturating_add(1);
        }
        let (expires_at, size) = (handle.expires_at, handle.byte_size);
        let entry = Entry { sequence: self.next_sequence, expires_at, size, blob };
        self.next_sequence += 1;
        self.total_bytes = self.total_bytes.saturating_add(size);
        self.by_sequence.insert(entry.sequence, id.clone());
        self.by_expiry.insert((expires_at, entry.sequence));
        self.entries.insert(id, entry);
    }

    /// Removes an entry; returns its blob if no other entry uses it.
    pub(super) fn remove_entry(&mut self, id: &HandleId) -> Option<BlobId> {
        let entry = self.entries.remove(id)?;
        self.by_sequence.remove(&entry.sequence);
        self.by_expiry.remove(&(entry.expires_at, entry.sequence));
        self.total_bytes = self.total_bytes.saturating_sub(entry.size);
        let blob = entry.blob?;
        let count = self.blob_refs.get_mut(&blob)?;
        *count = count.saturating_sub(1);
        if *count > 0 {
            return None;
        }
        self.blob_refs.remove(&blob);
        Some(blob)
    }

    /// Evicts expired entries, then the oldest ones until `budget` is met, but never `newest`.
    /// Bytes are removed before their records: a record without bytes reads as expired, whereas
    /// bytes without a record would never be removed.
    pub(super) fn evict(
        &mut self,
        budget: &HandleBudget,
        newest: &HandleId,
        now: Timestamp,
        blobs: &dyn BlobStore,
    ) {
        self.remove_expired(now, blobs);
        let full = |index: &Self| {
            index.entries.len() > budget.max_entries
                || budget.max_total_bytes.is_some_and(|max| index.total_bytes > max)
        };
        while full(self) {
            let Some((&age, _)) = self.by_sequence.iter().find(|(_, id)| *id != newest) else {
                return;
            };
            if let Some(oldest) = self.by_sequence.remove(&age) {
                self.evict_entry(oldest, blobs);
            }
        }
    }

    /// Removes expired entries, at most [`MAX_ENDED`] of them.
    pub(super) fn remove_expired(&mut self, now: Timestamp, blobs: &dyn BlobStore) {
        for _ in 0..MAX_ENDED {
            if self.by_expiry.first().is_none_or(|(at, _)| *at > now) {
                return;
            }
            let ended =
                self.by_expiry.pop_first().and_then(|(_, age)| self.by_sequence.remove(&age));
            if let Some(id) = ended {
                self.evict_entry(id, blobs);
            }
        }
    }

    fn evict_entry(&mut self, id: HandleId, blobs: &dyn BlobStore) {
        if let Some(blob) = self.remove_entry(&id) {
            self.remove_blob(blob, blobs);
        }
        self.pending_removals.push_back(id);
    }

    /// Removes a blob now, or with a later call if that fails.
    pub(super) fn remove_blob(&mut self, blob: BlobId, blobs: &dyn BlobStore) {
        if blobs.remove(&blob).is_err() && self.orphaned_blobs.len() < MAX_ORPHANS {
            self.orphaned_blobs.push_back(blob);
        }
    }

    /// Retries the removal of one orphaned blob.
    pub(super) fn retry_orphaned_blob(&mut self, blobs: &dyn BlobStore) {
        let found =
            self.orphaned_blobs.pop_front().filter(|blob| !self.blob_refs.contains_key(blob));
        if let Some(blob) = found {
            self.remove_blob(blob, blobs);
        }
    }

    /// Takes the record removals for the next batch.
    pub(super) fn take_removals(&mut self) -> Vec<HandleId> {
        let count = self.pending_removals.len().min(MAX_REMOVED);
        self.pending_removals.drain(..count).collect()
    }

    /// Returns removals whose batch was refused to the queue.
    pub(super) fn requeue_removals(&mut self, ids: impl IntoIterator<Item = HandleId>) {
        self.pending_removals.extend(ids);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use weaver_types::digest::{Digest, DomainTag};
    use weaver_types::ledger::LedgerError;

    use super::*;

    /// Counts attempts to remove something, which may fail.
    #[derive(Default)]
    struct Removals {
        attempts: AtomicUsize,
        fail: AtomicBool,
    }

    impl BlobStore for Removals {
        fn put(&self, _: &[u8]) -> Result<BlobId, LedgerError> {
            Err(LedgerError::Closed)
        }

        fn get(&self, _: &BlobId) -> Result<Option<Vec<u8>>, LedgerError> {
            Ok(None)
        }

        fn remove(&self, _: &BlobId) -> Result<(), LedgerError> {
            self.attempts.fetch_add(1, Ordering::Relaxed);
            if self.fail.load(Ordering::Relaxed) { Err(LedgerError::Closed) } else { Ok(()) }
        }
    }

    #[test]
    fn a_blob_is_removed_again_until_that_succeeds() {
        let blob = BlobId(Digest::of(DomainTag::BLOB, b"a blob"));
        let (mut index, blobs) = (HandleIndex::default(), Removals::default());
        let attempts = || blobs.attempts.load(Ordering::Relaxed);
        index.remove_blob(blob, &blobs);
        index.retry_orphaned_blob(&blobs);
        assert_eq!(attempts(), 1);
        blobs.fail.store(true, Ordering::Relaxed);
        index.remove_blob(blob, &blobs);
        index.retry_orphaned_blob(&blobs);
        blobs.fail.store(false, Ordering::Relaxed);
        index.retry_orphaned_blob(&blobs);
        index.retry_orphaned_blob(&blobs);
        assert_eq!(attempts(), 4);
    }
}
