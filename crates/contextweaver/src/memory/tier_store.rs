//! Reads, writes and expires the entries of one tier in a record store.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};

use weaver_types::ledger::{
    Batch, CounterChange, Durability, LedgerError, MAX_PAGE, Namespace, Record, RecordKey,
    RecordStore, RecordWrite, VersionGuard,
};
use weaver_types::{Tenant, Timestamp};

use super::bounds::{Limits, printable};
use super::candidate_cache::CandidateCaches;
use super::entry::{EntryKind, Tier};
use super::error::MemoryError;
use super::memory_record::{MemoryRecord, record_id};
use super::time::{ClockReading, ExpiryClock};

/// How often a change is tried when other writers change the same entry.
const MAX_ATTEMPTS: usize = 1_024;
/// How many records each write checks for expiry, taking turns through the tier.
const SWEEP_BATCH: usize = 4;
/// How many records are read at a time.
const PAGE_SIZE: usize = 256;

/// The lower bound of an entry counter; low enough never to block a deletion.
const MIN_COUNTER: i64 = -(1 << 52);

pub(super) struct TierStore {
    pub(super) tier: Tier,
    pub(super) store: Arc<dyn RecordStore>,
    pub(super) tenant: Tenant,
    pub(super) time: ExpiryClock,
    pub(super) limits: Limits,
    pub(super) durability: Durability,
    /// The instant of the newest episode that this process wrote, in microseconds.
    pub(super) last_episode_micros: AtomicI64,
    /// The record after which the next write continues to check for expiry.
    pub(super) cursor: Mutex<Option<String>>,
    /// Entries prepared for recall.
    pub(super) candidate_caches: CandidateCaches,
}

impl TierStore {
    /// The current time, which never goes backwards.
    pub(super) fn now(&self) -> Result<ClockReading, MemoryError> {
        let Some(record) = self.store.read(&self.key("clock/time"))? else {
            return Ok(self.time.now(None));
        };
        let damaged = || MemoryError::Damaged {
            key: "clock/time".to_owned(),
            problem: "it holds no time".to_owned(),
        };
        let text = std::str::from_utf8(&record.value).map_err(|_| damaged())?;
        let stored = text.parse().map_err(|_| damaged())?;
        Ok(self.time.now(Some(Timestamp::from_micros(stored))))
    }

    /// The unexpired claims under a key. Expired ones are deleted at once, so that a clock that is set
    /// back cannot revive them.
    pub(super) fn read(
        &self,
        kind: EntryKind,
        key: &str,
    ) -> Result<Option<MemoryRecord>, MemoryError> {
        let id = record_id(kind, key);
        let Some(record) = self.store.read(&self.key(&id))? else { return Ok(None) };
        let now = self.now()?;
        let stored = MemoryRecord::from_bytes(&id, &record.value)?;
        self.drop_expired_claims(&id, &record, stored, now)
    }

    /// Changes the record under a key. `change` gets the unexpired claims and returns the new record.
    /// It is called again if another writer changed the record in the meantime (optimistic locking by
    /// record version).
    pub(super) fn change<T>(
        &self,
        kind: EntryKind,
        key: &str,
        mut change: impl FnMut(
            Option<MemoryRecord>,
            Timestamp,
        ) -> Result<(Option<MemoryRecord>, T), MemoryError>,
    ) -> Result<T, MemoryError> {
        let id = record_id(kind, key);
        let mut swept = false;
        for _ in 0..MAX_ATTEMPTS {
            let now = self.now()?;
            let found = self.store.read(&self.key(&id))?;
            let stored = match &found {
                Some(record) => {
                    MemoryRecord::from_bytes(&id, &record.value)?.without_expired(now.expiry)
                }
                None => None,
            };
            let (next, out) = change(stored, now.expiry)?;
            let Some(batch) = self.change_batch(&id, found.as_ref(), next.as_ref(), now)? else {
                return Ok(out);
            };
            match self.store.apply(batch) {
                Ok(()) => {
                    // The change is committed; an error while expiring other entries must not
                    // make it look like a failure.
                    let _ = self.sweep_next(now);
                    return Ok(out);
                }
                Err(LedgerError::Conflict { .. }) => {}
                Err(LedgerError::OutOfBounds { .. }) => {
                    // `EpisodicStore::add` makes room by removing the oldest episode.
                    if swept || kind == EntryKind::Episode || self.sweep_kind(kind, now)? == 0 {
                        let (max, what) = (self.limits.max_entries(kind), kind.plural());
                        return Err(MemoryError::Full { max, what });
                    }
                    swept = true;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(MemoryError::Contended { key: printable(key) })
    }

    /// The records after `after` whose ids begin with `prefix`, in order of id.
    pub(super) fn page(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, MemoryError> {
        let after = after.unwrap_or(prefix);
        let mut found = self.store.list(&self.tenant, Namespace::Memory, Some(after), limit)?;
        found.retain(|(id, _)| id.starts_with(prefix));
        Ok(found)
    }

    /// Up to `limit` unexpired records of a kind after a key, in order of key; and the key after which
    /// the next page begins, if there may be more.
    pub(super) fn list(
        &self,
        kind: EntryKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<MemoryRecord>, Option<String>), MemoryError> {
        let prefix = record_id(kind, "");
        let now = self.now()?;
        let mut after = after.map(|key| record_id(kind, key));
        let mut out = Vec::new();
        while out.len() < limit {
            let wanted = (limit - out.len()).min(PAGE_SIZE);
            let page = self.page(&prefix, after.as_deref(), wanted)?;
            let more = page.len() == wanted;
            for (id, record) in page {
                let stored = MemoryRecord::from_bytes(&id, &record.value)?;
                out.extend(self.drop_expired_claims(&id, &record, stored, now)?);
                after = Some(id);
            }
            if !more {
                return Ok((out, None));
            }
        }
        let next = after.and_then(|id| id.strip_prefix(&prefix).map(str::to_owned));
        Ok((out, next))
    }

    /// Visits all records of a kind in order of id, expired ones included.
    pub(super) fn for_each_record(
        &self,
        kind: EntryKind,
        mut take: impl FnMut(&str, Record, ClockReading) -> Result<(), MemoryError>,
    ) -> Result<(), MemoryError> {
        let prefix = record_id(kind, "");
        let now = self.now()?;
        let mut after = None;
        loop {
            let page = self.page(&prefix, after.as_deref(), MAX_PAGE)?;
            let more = page.len() == MAX_PAGE;
            for (id, record) in page {
                take(&id, record, now)?;
                after = Some(id);
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// The unexpired claims of a record. Expired ones are deleted from the store.
    pub(super) fn drop_expired_claims(
        &self,
        id: &str,
        record: &Record,
        stored: MemoryRecord,
        now: ClockReading,
    ) -> Result<Option<MemoryRecord>, MemoryError> {
        if has_expired_claim(&stored, now.expiry) {
            self.write_remaining(id, record, &stored, now)?;
        }
        Ok(stored.without_expired(now.expiry))
    }

    /// Deletes all expired claims of a kind, and returns how many records were affected.
    pub(super) fn sweep_kind(
        &self,
        kind: EntryKind,
        now: ClockReading,
    ) -> Result<usize, MemoryError> {
        let prefix = record_id(kind, "");
        let (mut removed, mut after) = (0, None);
        loop {
            let page = self.page(&prefix, after.as_deref(), PAGE_SIZE)?;
            let more = page.len() == PAGE_SIZE;
            for (id, record) in page {
                removed += usize::from(self.forget_expired(&id, &record, now)?);
                after = Some(id);
            }
            if !more {
                return Ok(removed);
            }
        }
    }

    /// Checks the next few records of the tier for expiry.
    fn sweep_next(&self, now: ClockReading) -> Result<(), MemoryError> {
        let mut cursor = match self.cursor.lock() {
            Ok(cursor) => cursor,
            Err(poisoned) => poisoned.into_inner(),
        };
        let page =
            self.store.list(&self.tenant, Namespace::Memory, cursor.as_deref(), SWEEP_BATCH)?;
        *cursor =
            (page.len() == SWEEP_BATCH).then(|| page.last().map(|(id, _)| id.clone())).flatten();
        drop(cursor);
        for (id, record) in page.iter().filter(|(id, _)| is_entry(id)) {
            self.forget_expired(id, record, now)?;
        }
        Ok(())
    }

    /// Deletes the expired claims of a record during a sweep. While the wall clock is ahead of the
    /// persisted time, a record has to be expired by both, so that a wrong clock deletes nothing
    /// that is not read.
    fn forget_expired(
        &self,
        id: &str,
        record: &Record,
        now: ClockReading,
    ) -> Result<bool, MemoryError> {
        // A record that cannot be decoded is kept; reading it directly reports the error.
        let Ok(stored) = MemoryRecord::from_bytes(id, &record.value) else { return Ok(false) };
        let expired =
            has_expired_claim(&stored, now.expiry) && has_expired_claim(&stored, now.persisted);
        if expired {
            self.write_remaining(id, record, &stored, now)?;
        }
        Ok(expired)
    }

    /// Writes the unexpired claims of a record back. A conflict is ignored: another writer has done
    /// the same, or has written something new.
    fn write_remaining(
        &self,
        id: &str,
        record: &Record,
        stored: &MemoryRecord,
        now: ClockReading,
    ) -> Result<(), MemoryError> {
        let remaining = stored.clone().without_expired(now.expiry);
        let Some(batch) = self.change_batch(id, Some(record), remaining.as_ref(), now)? else {
            return Ok(());
        };
        match self.store.apply(batch) {
            Ok(()) | Err(LedgerError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The batch that turns the record that was found into `next`: guarded by its version, with the
    /// entry counter and the persisted time updated. `None` if there is nothing to do.
    fn change_batch(
        &self,
        id: &str,
        found: Option<&Record>,
        next: Option<&MemoryRecord>,
        now: ClockReading,
    ) -> Result<Option<Batch>, MemoryError> {
        let key = self.key(id);
        let mut batch = Batch::new(self.durability);
        match (found, next) {
            (None, None) => return Ok(None),
            (_, Some(next)) => {
                batch.put.push(RecordWrite {
                    key: key.clone(),
                    value: next.to_bytes()?,
                    expires_at: None,
                });
            }
            (Some(_), None) => batch.delete.push(key.clone()),
        }
        let kind = id.split('/').next().unwrap_or_default();
        let limit = EntryKind::ALL.into_iter().find(|known| known.as_str() == kind);
        let limit = limit.map_or(0, |kind| self.limits.max_entries(kind));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let (delta, max) = match (found, next) {
            (None, Some(_)) => (1, limit),
            (Some(_), None) => (-1, i64::MAX),
            _ => (0, 0),
        };
        if delta != 0 {
            let key = self.key(&format!("count/{kind}"));
            batch.add.push(CounterChange { key, delta, min: MIN_COUNTER, max });
        }
        batch.expect.push(VersionGuard { key, version: found.map(|record| record.version) });
        let persisted = now.persisted.micros().to_string().into_bytes();
        batch.put.push(RecordWrite {
            key: self.key("clock/time"),
            value: persisted,
            expires_at: None,
        });
        Ok(Some(batch))
    }

    fn key(&self, id: &str) -> RecordKey {
        RecordKey::new(self.tenant.clone(), Namespace::Memory, id)
    }
}

fn has_expired_claim(stored: &MemoryRecord, now: Timestamp) -> bool {
    stored.claims.iter().any(|claim| claim.is_expired(now))
}

/// Whether a record is an entry, not a counter or the clock.
fn is_entry(id: &str) -> bool {
    EntryKind::ALL
        .iter()
        .any(|kind| id.strip_prefix(kind.as_str()).is_some_and(|rest| rest.starts_with('/')))
}
