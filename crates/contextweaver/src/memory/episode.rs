//! Episodes: short summaries of past interactions, of which the newest are kept.

use std::sync::atomic::Ordering;

use serde_json::Value;
use weaver_types::Timestamp;

use super::bounds::{MAX_SUMMARY_BYTES, check_size};
use super::entry::{EntryKind, MemoryEntry};
use super::error::MemoryError;
use super::memory_record::{MemoryRecord, StoredClaim};
use super::put::PutOptions;
use super::tier::{Access, Memory};

/// How often an addition is tried when the tier is full or another writer took the same instant.
const MAX_ATTEMPTS: usize = 1_024;

/// Short summaries of past interactions in the durable tier. When the limit is reached, the oldest is
/// removed.
#[derive(Clone)]
pub struct EpisodicStore(Memory);

impl EpisodicStore {
    /// The episodes of a tier.
    #[must_use]
    pub fn new(memory: &Memory) -> Self {
        Self(memory.clone())
    }

    /// Adds a summary and returns its id. Ids sort by time.
    ///
    /// # Errors
    /// [`MemoryError`] if it is longer than [`MAX_SUMMARY_BYTES`] or cannot be written.
    pub fn add(&self, summary: &str, put: &PutOptions) -> Result<String, MemoryError> {
        check_size("summary", "episode", summary.len(), MAX_SUMMARY_BYTES)?;
        let put = self.0.with_defaults(put);
        let value = Value::String(summary.to_owned());
        self.0.store.limits.check_put("episode", &value, &put)?;
        let now = self.0.store.now()?.expiry;
        let claim = StoredClaim::new(1, value, &put, now);
        let entry =
            claim.clone().entry(self.0.tier(), EntryKind::Episode, &episode_id(now.micros()));
        self.0.audit(Access::Put, &entry)?;
        for _ in 0..MAX_ATTEMPTS {
            let id = episode_id(self.next_instant(now));
            let new_record = MemoryRecord::new(EntryKind::Episode, &id, vec![claim.clone()]);
            let written = self.0.store.change(EntryKind::Episode, &id, |found, _| {
                let is_taken = found.is_some();
                Ok((Some(found.unwrap_or_else(|| new_record.clone())), is_taken))
            });
            match written {
                Ok(false) => return Ok(id),
                Ok(true) => {}
                Err(MemoryError::Full { max: 0, what }) => {
                    return Err(MemoryError::Full { max: 0, what });
                }
                Err(MemoryError::Full { .. }) => self.remove_oldest()?,
                Err(error) => return Err(error),
            }
        }
        Err(MemoryError::Contended { key: "episode".to_owned() })
    }

    /// The newest `limit` episodes, newest first.
    ///
    /// # Errors
    /// [`MemoryError`] if the store cannot be read.
    pub fn latest(&self, limit: usize) -> Result<Vec<MemoryEntry>, MemoryError> {
        let mut all = self.all()?;
        all.reverse();
        all.truncate(limit);
        Ok(all)
    }

    /// One episode by its id.
    ///
    /// # Errors
    /// [`MemoryError`] if the store cannot be read.
    pub fn get(&self, id: &str) -> Result<Option<MemoryEntry>, MemoryError> {
        super::bounds::check_key(id)?;
        let found = self.0.store.read(EntryKind::Episode, id)?;
        let found = found.and_then(|stored| stored.entry(self.0.tier()));
        if let Some(entry) = &found {
            self.0.audit(Access::Get, entry)?;
        }
        Ok(found)
    }

    /// Removes an episode. Returns whether there was one.
    ///
    /// # Errors
    /// [`MemoryError`] if the store cannot be written.
    pub fn forget(&self, id: &str) -> Result<bool, MemoryError> {
        self.0.remove(EntryKind::Episode, id)
    }

    /// All episodes, oldest first.
    pub(super) fn all(&self) -> Result<Vec<MemoryEntry>, MemoryError> {
        let mut all = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.0.list(EntryKind::Episode, after.as_deref(), super::MAX_PAGE)?;
            all.extend(page.items);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// A unique instant for a new episode: now, or one microsecond after the last one assigned.
    fn next_instant(&self, now: Timestamp) -> i64 {
        let next = |last: i64| now.micros().max(last.saturating_add(1));
        let newest = &self.0.store.last_episode_micros;
        let took = newest.try_update(Ordering::SeqCst, Ordering::SeqCst, |last| Some(next(last)));
        next(took.unwrap_or_else(|last| last))
    }

    fn remove_oldest(&self) -> Result<(), MemoryError> {
        let (oldest, _) = self.0.store.list(EntryKind::Episode, None, 1)?;
        match oldest.first() {
            Some(oldest) => self.0.remove(EntryKind::Episode, &oldest.key).map(drop),
            None => Ok(()),
        }
    }
}

/// An id that sorts by time.
fn episode_id(micros: i64) -> String {
    format!("ep_{:019}", micros.max(0))
}
