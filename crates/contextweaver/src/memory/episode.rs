//! Episodes: short summaries of what happened, of which the newest are kept.

use std::sync::atomic::Ordering;

use serde_json::Value;
use weaver_types::Timestamp;

use super::bounds::{MAX_EPISODE, bounded};
use super::entry::{EntryKind, MemoryEntry};
use super::error::MemoryError;
use super::memory_record::{MemoryRecord, StoredClaim};
use super::put::PutOptions;
use super::tier::{Access, Memory};

/// How often room is made, or a later instant taken, because others were faster.
const MAX_TRIES: usize = 1_024;

/// Short summaries of past interactions in the durable tier, the newest first. Where there are as
/// many as the limit says, the oldest makes room.
#[derive(Clone)]
pub struct EpisodicStore(Memory);

impl EpisodicStore {
    /// The episodes of a tier.
    #[must_use]
    pub fn new(memory: &Memory) -> Self {
        Self(memory.clone())
    }

    /// Adds a summary and gives it an id, which sorts by time.
    ///
    /// # Errors
    /// [`MemoryError`], when it is longer than [`MAX_EPISODE`] or cannot be written.
    pub fn add(&self, summary: &str, put: &PutOptions) -> Result<String, MemoryError> {
        bounded("summary", "episode", summary.len(), MAX_EPISODE)?;
        let put = self.0.complete(put);
        let value = Value::String(summary.to_owned());
        self.0.records.limits.check("episode", &value, &put)?;
        let now = self.0.records.now()?.expiry;
        let claim = StoredClaim::new(1, value, &put, now);
        let entry = claim.clone().entry(self.0.tier(), EntryKind::Episode, &id_at(now.micros()));
        self.0.tell(Access::Put, &entry)?;
        for _ in 0..MAX_TRIES {
            let id = id_at(self.instant(now));
            let fresh = MemoryRecord::new(EntryKind::Episode, &id, vec![claim.clone()]);
            let written = self.0.records.change(EntryKind::Episode, &id, |found, _| {
                let taken = found.is_some();
                Ok((Some(found.unwrap_or_else(|| fresh.clone())), taken))
            });
            match written {
                Ok(false) => return Ok(id),
                Ok(true) => {}
                Err(MemoryError::Full { max: 0, what }) => {
                    return Err(MemoryError::Full { max: 0, what });
                }
                Err(MemoryError::Full { .. }) => self.make_room()?,
                Err(error) => return Err(error),
            }
        }
        Err(MemoryError::Contended { key: "episode".to_owned() })
    }

    /// The newest `limit` episodes, newest first.
    ///
    /// # Errors
    /// [`MemoryError`], when the store cannot be read.
    pub fn latest(&self, limit: usize) -> Result<Vec<MemoryEntry>, MemoryError> {
        let mut all = self.all()?;
        all.reverse();
        all.truncate(limit);
        Ok(all)
    }

    /// One episode by its id.
    ///
    /// # Errors
    /// [`MemoryError`], when the store cannot be read.
    pub fn get(&self, id: &str) -> Result<Option<MemoryEntry>, MemoryError> {
        super::bounds::check_key(id)?;
        let found = self.0.records.read(EntryKind::Episode, id)?;
        let found = found.and_then(|stored| stored.entry(self.0.tier()));
        if let Some(entry) = &found {
            self.0.tell(Access::Get, entry)?;
        }
        Ok(found)
    }

    /// Forgets one. True when there was one.
    ///
    /// # Errors
    /// [`MemoryError`], when the store cannot be written.
    pub fn forget(&self, id: &str) -> Result<bool, MemoryError> {
        self.0.remove(EntryKind::Episode, id)
    }

    /// All of them, oldest first: at most as many as the limit says.
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

    /// An instant for a new episode: now, or the next one after the last that was given.
    fn instant(&self, now: Timestamp) -> i64 {
        let next = |last: i64| now.micros().max(last.saturating_add(1));
        let newest = &self.0.records.newest;
        let took = newest.try_update(Ordering::SeqCst, Ordering::SeqCst, |last| Some(next(last)));
        next(took.unwrap_or_else(|last| last))
    }

    fn make_room(&self) -> Result<(), MemoryError> {
        let (oldest, _) = self.0.records.list(EntryKind::Episode, None, 1)?;
        match oldest.first() {
            Some(oldest) => self.0.remove(EntryKind::Episode, &oldest.key).map(drop),
            None => Ok(()),
        }
    }
}

/// An id that sorts by time.
fn id_at(micros: i64) -> String {
    format!("ep_{:019}", micros.max(0))
}
