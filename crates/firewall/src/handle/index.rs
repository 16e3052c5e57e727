//! What is kept, by age and by end. It is rebuilt from the ledger in one pass; nothing of it is
//! stored.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use ahash::RandomState;
use weaver_types::ledger::{BlobId, BlobStore};
use weaver_types::{Handle, HandleId, Timestamp};

use super::budget::HandleBudget;
use super::record::StoredBytes;

/// The most records that one call removes; more wait for the next calls.
const MAX_REMOVED: usize = 256;
/// The most ended handles that one call removes.
const MAX_ENDED: usize = 64;
/// The most blobs that wait to be removed again after that failed.
const MAX_ORPHANS: usize = 4_096;

/// One stored result.
#[derive(Debug, Clone)]
struct Entry {
    age: u64,
    expires_at: Timestamp,
    size: u64,
    blob: Option<BlobId>,
}

/// All stored results of a tenant.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: HashMap<HandleId, Entry, RandomState>,
    /// A result's age is its place in the order in which they came.
    by_age: BTreeMap<u64, HandleId>,
    /// Ends, with the age of what ends then.
    by_end: BTreeSet<(Timestamp, u64)>,
    /// How many results lie in one blob: equal bytes are stored once.
    blobs: BTreeMap<BlobId, u32>,
    bytes: u64,
    next: u64,
    /// Results that are gone, with records that are still to be removed.
    doomed: VecDeque<HandleId>,
    /// Blobs that could not be removed.
    orphans: VecDeque<BlobId>,
}

impl Index {
    pub(super) fn entries(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The end of the one that ends last.
    pub(super) fn last_end(&self) -> Option<Timestamp> {
        self.by_end.last().map(|(end, _)| *end)
    }

    pub(super) fn add(&mut self, handle: &Handle, bytes: &StoredBytes) {
        let id = handle.handle_id.clone();
        let blob = match bytes {
            StoredBytes::Inline(_) => None,
            StoredBytes::Blob(blob) => Some(*blob),
        };
        if let Some(blob) = blob {
            let count = self.blobs.entry(blob).or_default();
            *count = count.saturating_add(1);
        }
        let (expires_at, size) = (handle.expires_at, handle.byte_size);
        let entry = Entry { age: self.next, expires_at, size, blob };
        self.next += 1;
        self.bytes = self.bytes.saturating_add(size);
        self.by_age.insert(entry.age, id.clone());
        self.by_end.insert((expires_at, entry.age));
        self.entries.insert(id, entry);
    }

    /// Takes a result out; gives its blob when nothing else lies in it.
    pub(super) fn take(&mut self, id: &HandleId) -> Option<BlobId> {
        let entry = self.entries.remove(id)?;
        self.by_age.remove(&entry.age);
        self.by_end.remove(&(entry.expires_at, entry.age));
        self.bytes = self.bytes.saturating_sub(entry.size);
        let blob = entry.blob?;
        let count = self.blobs.get_mut(&blob)?;
        *count = count.saturating_sub(1);
        if *count > 0 {
            return None;
        }
        self.blobs.remove(&blob);
        Some(blob)
    }

    /// Takes out what has ended and, oldest first, what must go so that `budget` is kept; never
    /// `newest`. The bytes go at once, before their records: a record without its bytes reads as
    /// expired, bytes without a record would stay for ever.
    pub(super) fn evict(
        &mut self,
        budget: &HandleBudget,
        newest: &HandleId,
        now: Timestamp,
        blobs: &dyn BlobStore,
    ) {
        self.end(now, blobs);
        let full = |index: &Self| {
            index.entries.len() > budget.max_entries
                || budget.max_total_bytes.is_some_and(|max| index.bytes > max)
        };
        while full(self) {
            let Some((&age, _)) = self.by_age.iter().find(|(_, id)| *id != newest) else { return };
            if let Some(oldest) = self.by_age.remove(&age) {
                self.doom(oldest, blobs);
            }
        }
    }

    /// Removes entries that have ended, at most [`MAX_ENDED`] of them.
    pub(super) fn end(&mut self, now: Timestamp, blobs: &dyn BlobStore) {
        for _ in 0..MAX_ENDED {
            if self.by_end.first().is_none_or(|(at, _)| *at > now) {
                return;
            }
            let ended = self.by_end.pop_first().and_then(|(_, age)| self.by_age.remove(&age));
            if let Some(id) = ended {
                self.doom(id, blobs);
            }
        }
    }

    fn doom(&mut self, id: HandleId, blobs: &dyn BlobStore) {
        if let Some(blob) = self.take(&id) {
            self.remove(blob, blobs);
        }
        self.doomed.push_back(id);
    }

    /// Removes bytes, now or with one of the next calls.
    pub(super) fn remove(&mut self, blob: BlobId, blobs: &dyn BlobStore) {
        if blobs.remove(&blob).is_err() && self.orphans.len() < MAX_ORPHANS {
            self.orphans.push_back(blob);
        }
    }

    /// Tries once more to remove one of the blobs that could not be removed.
    pub(super) fn tidy(&mut self, blobs: &dyn BlobStore) {
        let found = self.orphans.pop_front().filter(|blob| !self.blobs.contains_key(blob));
        if let Some(blob) = found {
            self.remove(blob, blobs);
        }
    }

    /// Records to remove with the next batch.
    pub(super) fn removals(&mut self) -> Vec<HandleId> {
        let count = self.doomed.len().min(MAX_REMOVED);
        self.doomed.drain(..count).collect()
    }

    /// Records whose removal did not come about.
    pub(super) fn again(&mut self, ids: impl IntoIterator<Item = HandleId>) {
        self.doomed.extend(ids);
    }
}
