//! Where the entries of one tier stand: reading, writing and forgetting over a store of records.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};

use weaver_types::ledger::{
    Add, Batch, Durability, Expect, LedgerError, MAX_PAGE, Namespace, Put, Record, RecordKey,
    RecordStore,
};
use weaver_types::{Tenant, Timestamp};

use super::bounds::{Limits, shown};
use super::candidate_cache::CandidateCaches;
use super::entry::{EntryKind, Tier};
use super::error::MemoryError;
use super::memory_record::{MemoryRecord, record_id};
use super::time::{ClockReading, Time};

/// How often a change is made again because others changed the same entry.
const MAX_TRIES: usize = 1_024;
/// How many entries each write looks at, in turn, for what has expired.
const SWEEP: usize = 4;
/// How many records one page of a sweep holds.
const PAGE: usize = 256;

/// What a counter of entries never leaves, whatever the limit.
const LEAST: i64 = -(1 << 52);

pub(super) struct TierStore {
    pub(super) tier: Tier,
    pub(super) store: Arc<dyn RecordStore>,
    pub(super) tenant: Tenant,
    pub(super) time: Time,
    pub(super) limits: Limits,
    pub(super) durability: Durability,
    /// The instant of the newest episode that this process wrote.
    pub(super) newest: AtomicI64,
    /// After which record the next write looks for what has expired.
    pub(super) cursor: Mutex<Option<String>>,
    /// What was worked out of the entries.
    pub(super) known: CandidateCaches,
}

impl TierStore {
    /// The time, which never falls.
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

    /// What stands under a key and has not expired. What has is forgotten at once, so that no clock
    /// brings it back.
    pub(super) fn read(
        &self,
        kind: EntryKind,
        key: &str,
    ) -> Result<Option<MemoryRecord>, MemoryError> {
        let id = record_id(kind, key);
        let Some(record) = self.store.read(&self.key(&id))? else { return Ok(None) };
        let now = self.now()?;
        let stored = MemoryRecord::from_bytes(&id, &record.value)?;
        self.standing(&id, &record, stored, now)
    }

    /// Changes what stands under a key. `change` gets what has not expired and says what is to
    /// stand there; it may be asked again when others were faster.
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
        for _ in 0..MAX_TRIES {
            let now = self.now()?;
            let found = self.store.read(&self.key(&id))?;
            let stored = match &found {
                Some(record) => MemoryRecord::from_bytes(&id, &record.value)?.live(now.expiry),
                None => None,
            };
            let (next, out) = change(stored, now.expiry)?;
            let Some(batch) = self.batch(&id, found.as_ref(), next.as_ref(), now)? else {
                return Ok(out);
            };
            match self.store.apply(batch) {
                Ok(()) => {
                    // The change is made, whatever becomes of tidying up other entries.
                    let _ = self.sweep_some(now);
                    return Ok(out);
                }
                Err(LedgerError::Conflict { .. }) => {}
                Err(LedgerError::OutOfBounds { .. }) => {
                    // Episodes make room by age, see there.
                    if swept || kind == EntryKind::Episode || self.sweep_kind(kind, now)? == 0 {
                        let (max, what) = (self.limits.of(kind), kind.plural());
                        return Err(MemoryError::Full { max, what });
                    }
                    swept = true;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(MemoryError::Contended { key: shown(key) })
    }

    /// The records after `after` whose ids begin with `prefix`, in the order of their ids.
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

    /// Up to `limit` entries of a kind that have not expired, after a key, in the order of their
    /// keys; and the key after which the next page begins, where there may be more.
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
            let wanted = (limit - out.len()).min(PAGE);
            let page = self.page(&prefix, after.as_deref(), wanted)?;
            let more = page.len() == wanted;
            for (id, record) in page {
                let stored = MemoryRecord::from_bytes(&id, &record.value)?;
                out.extend(self.standing(&id, &record, stored, now)?);
                after = Some(id);
            }
            if !more {
                return Ok((out, None));
            }
        }
        let next = after.and_then(|id| id.strip_prefix(&prefix).map(str::to_owned));
        Ok((out, next))
    }

    /// Goes through the records of a kind, in the order of their ids, as they are.
    pub(super) fn each(
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

    /// What of an entry has not expired. What has is forgotten at once.
    pub(super) fn standing(
        &self,
        id: &str,
        record: &Record,
        stored: MemoryRecord,
        now: ClockReading,
    ) -> Result<Option<MemoryRecord>, MemoryError> {
        if has_expired(&stored, now.expiry) {
            self.settle(id, record, &stored, now)?;
        }
        Ok(stored.live(now.expiry))
    }

    /// Forgets everything of a kind that has expired, and says how much that was.
    pub(super) fn sweep_kind(
        &self,
        kind: EntryKind,
        now: ClockReading,
    ) -> Result<usize, MemoryError> {
        let prefix = record_id(kind, "");
        let (mut gone, mut after) = (0, None);
        loop {
            let page = self.page(&prefix, after.as_deref(), PAGE)?;
            let more = page.len() == PAGE;
            for (id, record) in page {
                gone += usize::from(self.forget_expired(&id, &record, now)?);
                after = Some(id);
            }
            if !more {
                return Ok(gone);
            }
        }
    }

    /// Looks at the next few records of the tier, in turn.
    fn sweep_some(&self, now: ClockReading) -> Result<(), MemoryError> {
        let mut cursor = match self.cursor.lock() {
            Ok(cursor) => cursor,
            Err(poisoned) => poisoned.into_inner(),
        };
        let page = self.store.list(&self.tenant, Namespace::Memory, cursor.as_deref(), SWEEP)?;
        *cursor = (page.len() == SWEEP).then(|| page.last().map(|(id, _)| id.clone())).flatten();
        drop(cursor);
        for (id, record) in page.iter().filter(|(id, _)| is_entry(id)) {
            self.forget_expired(id, record, now)?;
        }
        Ok(())
    }

    /// Forgets one entry that nobody asked for. While the wall clock is not believed, only those
    /// are forgotten that have expired with it and without it.
    fn forget_expired(
        &self,
        id: &str,
        record: &Record,
        now: ClockReading,
    ) -> Result<bool, MemoryError> {
        // One that cannot be read stays: whoever asks for it is told so.
        let Ok(stored) = MemoryRecord::from_bytes(id, &record.value) else { return Ok(false) };
        let expired = has_expired(&stored, now.expiry) && has_expired(&stored, now.kept);
        if expired {
            self.settle(id, record, &stored, now)?;
        }
        Ok(expired)
    }

    /// Writes what is left of an entry of which something has expired. Whoever was faster has done
    /// it, or has written something new.
    fn settle(
        &self,
        id: &str,
        record: &Record,
        stored: &MemoryRecord,
        now: ClockReading,
    ) -> Result<(), MemoryError> {
        let left = stored.clone().live(now.expiry);
        let Some(batch) = self.batch(id, Some(record), left.as_ref(), now)? else { return Ok(()) };
        match self.store.apply(batch) {
            Ok(()) | Err(LedgerError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// What makes `next` of what was found; `None` where nothing is to be done.
    fn batch(
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
                batch.put.push(Put { key: key.clone(), value: next.to_bytes()?, expires_at: None });
            }
            (Some(_), None) => batch.delete.push(key.clone()),
        }
        let kind = id.split('/').next().unwrap_or_default();
        let limit = EntryKind::ALL.into_iter().find(|known| known.as_str() == kind);
        let limit = limit.map_or(0, |kind| self.limits.of(kind));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let (delta, max) = match (found, next) {
            (None, Some(_)) => (1, limit),
            (Some(_), None) => (-1, i64::MAX),
            _ => (0, 0),
        };
        if delta != 0 {
            let key = self.key(&format!("count/{kind}"));
            batch.add.push(Add { key, delta, min: LEAST, max });
        }
        batch.expect.push(Expect { key, version: found.map(|record| record.version) });
        let kept = now.kept.micros().to_string().into_bytes();
        batch.put.push(Put { key: self.key("clock/time"), value: kept, expires_at: None });
        Ok(Some(batch))
    }

    fn key(&self, id: &str) -> RecordKey {
        RecordKey::new(self.tenant.clone(), Namespace::Memory, id)
    }
}

fn has_expired(stored: &MemoryRecord, now: Timestamp) -> bool {
    stored.claims.iter().any(|claim| claim.is_expired(now))
}

/// Whether a record is an entry, and no counter or clock.
fn is_entry(id: &str) -> bool {
    EntryKind::ALL
        .iter()
        .any(|kind| id.strip_prefix(kind.as_str()).is_some_and(|rest| rest.starts_with('/')))
}
