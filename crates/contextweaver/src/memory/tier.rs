//! One tier of memory: the calls that all tiers have.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use weaver_types::Confidentiality;
use weaver_types::ledger::{Durability, RecordStore};

use super::bounds::{MAX_PAGE, check_key};
use super::bundle::BundleParts;
use super::entry::{EntryKind, MemoryEntry, Origin, Tier};
use super::error::{MemoryError, MemoryLogError};
use super::memory_record::{MemoryRecord, StoredClaim};
use super::process_records::ProcessRecords;
use super::put::PutOptions;
use super::tier_store::TierStore;
use super::time::Time;

/// What happened to an entry, as the log hears of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It is about to be written.
    Put,
    /// It is about to be given out.
    Get,
}

/// Takes down what is written to and read from memory. What it refuses does not happen.
pub type MemoryAuditHook =
    Arc<dyn Fn(Access, &MemoryEntry) -> Result<(), MemoryLogError> + Send + Sync>;

/// One page of a list, in the order of the keys.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryPage<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// After which key the next page begins; `None` on the last.
    pub next: Option<String>,
}

/// One tier of memory. Any number of threads may use it; over a store that several processes
/// open, so may they.
///
/// Reading, writing and deleting cost the same however many entries there are.
#[derive(Clone)]
pub struct Memory {
    pub(super) records: Arc<TierStore>,
    origin: Arc<Origin>,
    log: Option<MemoryAuditHook>,
}

impl Memory {
    /// A tier over the parts of a bundle: in this process, or over their store where it is durable.
    pub(super) fn new(tier: Tier, parts: &BundleParts) -> Self {
        let store = parts.memory_store.clone().filter(|_| tier == Tier::Durable);
        let records = TierStore {
            tier,
            store: store
                .unwrap_or_else(|| Arc::new(ProcessRecords::default()) as Arc<dyn RecordStore>),
            tenant: parts.tenant.clone(),
            time: Time::new(Arc::clone(&parts.clock)),
            limits: parts.limits.within(),
            durability: Durability::Disk,
            newest: AtomicI64::new(-1),
            cursor: Mutex::default(),
            known: Mutex::default(),
        };
        let origin = Origin {
            session: parts.session_id.clone(),
            trace: parts.trace_id.clone(),
            ..Origin::default()
        };
        let log = parts.event_log.clone().filter(|_| tier != Tier::Working);
        Self { records: Arc::new(records), origin: Arc::new(origin), log }
    }

    /// Which one it is.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.records.tier
    }

    /// Remembers a value under a key, in the place of what was there.
    ///
    /// # Errors
    /// [`MemoryError`]; nothing is remembered then.
    pub fn put(&self, key: &str, value: Value, put: &PutOptions) -> Result<(), MemoryError> {
        let put = self.complete(put);
        self.records.limits.check(key, &value, &put)?;
        self.write(EntryKind::Value, key, value, &put)
    }

    /// The value under a key, or `default` where there is none or it has expired.
    ///
    /// # Errors
    /// [`MemoryError`], when the store cannot be read or the log does not take it.
    pub fn get(&self, key: &str, default: Value) -> Result<Value, MemoryError> {
        Ok(self.entry(key)?.map_or(default, |entry| entry.value))
    }

    /// The value under a key with all that goes with it.
    ///
    /// # Errors
    /// As [`Memory::get`].
    pub fn entry(&self, key: &str) -> Result<Option<MemoryEntry>, MemoryError> {
        check_key(key)?;
        let found = self.records.read(EntryKind::Value, key)?;
        let found = found.and_then(|stored| stored.entry(self.tier()));
        if let Some(entry) = &found {
            self.tell(Access::Get, entry)?;
        }
        Ok(found)
    }

    /// Forgets what is under a key. True when there was something that had not expired.
    ///
    /// # Errors
    /// [`MemoryError`], when the store cannot be written.
    pub fn delete(&self, key: &str) -> Result<bool, MemoryError> {
        self.remove(EntryKind::Value, key)
    }

    /// The keys after `after`, at most `limit` and [`MAX_PAGE`].
    ///
    /// # Errors
    /// [`MemoryError`], when the store cannot be read.
    pub fn list_keys(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<EntryPage<String>, MemoryError> {
        let EntryPage { items, next } = self.list(EntryKind::Value, after, limit)?;
        Ok(EntryPage { items: items.into_iter().map(|entry| entry.key).collect(), next })
    }

    /// Entries of a kind after `after`, at most `limit` and [`MAX_PAGE`]. Of a fact that is
    /// contradicted, the newest claim.
    ///
    /// # Errors
    /// [`MemoryError`], when the store cannot be read.
    pub fn list(
        &self,
        kind: EntryKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<EntryPage<MemoryEntry>, MemoryError> {
        let (found, next) = self.records.list(kind, after, limit.min(MAX_PAGE))?;
        let items = found.into_iter().filter_map(|stored| stored.entry(self.tier())).collect();
        Ok(EntryPage { items, next })
    }

    /// Forgets everything that has expired, and says how many entries that touched.
    ///
    /// # Errors
    /// [`MemoryError`], when the store cannot be read or written.
    pub fn sweep(&self) -> Result<usize, MemoryError> {
        let now = self.records.now()?;
        EntryKind::ALL.into_iter().map(|kind| self.records.sweep_kind(kind, now)).sum()
    }

    pub(super) fn remove(&self, kind: EntryKind, key: &str) -> Result<bool, MemoryError> {
        check_key(key)?;
        self.records.change(kind, key, |stored, _| Ok((None, stored.is_some())))
    }

    pub(super) fn write(
        &self,
        kind: EntryKind,
        key: &str,
        value: Value,
        put: &PutOptions,
    ) -> Result<(), MemoryError> {
        let now = self.records.now()?.expiry;
        let claim = StoredClaim::new(1, value, put, now);
        self.tell(Access::Put, &claim.clone().entry(self.tier(), kind, key))?;
        self.records.change(kind, key, |_, now| {
            let claim = StoredClaim { created_at: now, ..claim.clone() };
            Ok((Some(MemoryRecord::new(kind, key, vec![claim])), ()))
        })
    }

    /// `put` with the session and trace of the bundle filled in, and a label of at least internal:
    /// nothing in memory is public.
    pub(super) fn complete(&self, put: &PutOptions) -> PutOptions {
        let mut put = put.clone();
        put.label.confidentiality = put.label.confidentiality.max(Confidentiality::Internal);
        let Origin { session, trace, .. } = &mut put.origin;
        for (said, known) in [(session, &self.origin.session), (trace, &self.origin.trace)] {
            if said.is_empty() {
                said.clone_from(known);
            }
        }
        put
    }

    pub(super) fn tell(&self, access: Access, entry: &MemoryEntry) -> Result<(), MemoryError> {
        match &self.log {
            Some(log) => log(access, entry).map_err(MemoryError::Log),
            None => Ok(()),
        }
    }
}

/// A tier that lies in this process, and can be looked at as a whole.
#[derive(Clone)]
pub struct InProcessMemory(pub(super) Memory);

impl InProcessMemory {
    /// All values that have not expired, by key.
    ///
    /// # Errors
    /// [`MemoryError`], where a thread died while it wrote.
    pub fn snapshot(&self) -> Result<BTreeMap<String, Value>, MemoryError> {
        let mut all = BTreeMap::new();
        let mut after = None;
        loop {
            let page = self.0.list(EntryKind::Value, after.as_deref(), MAX_PAGE)?;
            all.extend(page.items.into_iter().map(|entry| (entry.key, entry.value)));
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(all),
            }
        }
    }
}

impl Deref for InProcessMemory {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        &self.0
    }
}
