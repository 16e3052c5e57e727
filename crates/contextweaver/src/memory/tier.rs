//! One tier of memory: the operations that all tiers have.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use weaver_types::Confidentiality;
use weaver_types::ledger::{Durability, RecordStore};

use super::bounds::{MAX_PAGE, check_key};
use super::bundle::BundleParts;
use super::entry::{EntryKind, EntryOrigin, MemoryEntry, Tier};
use super::error::{MemoryError, MemoryLogError};
use super::memory_record::{MemoryRecord, StoredClaim};
use super::process_records::ProcessRecords;
use super::put::PutOptions;
use super::tier_store::TierStore;
use super::time::ExpiryClock;

/// An access to an entry, as the audit hook sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The entry is about to be written.
    Put,
    /// The entry is about to be returned.
    Get,
}

/// A hook that records writes to and reads from memory. An access that it refuses does not happen.
pub type MemoryAuditHook =
    Arc<dyn Fn(Access, &MemoryEntry) -> Result<(), MemoryLogError> + Send + Sync>;

/// One page of a list, in order of key.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryPage<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// The key after which the next page begins; `None` on the last page.
    pub next: Option<String>,
}

/// One tier of memory. Any number of threads may use it at once, and any number of processes if they
/// share its store.
///
/// The cost of a read, write or deletion does not depend on the number of entries.
#[derive(Clone)]
pub struct Memory {
    pub(super) store: Arc<TierStore>,
    origin: Arc<EntryOrigin>,
    audit_hook: Option<MemoryAuditHook>,
}

weaver_types::opaque_debug!(Memory);

impl Memory {
    /// A tier of a bundle: over its store if the tier is durable, otherwise in this process.
    pub(super) fn new(tier: Tier, parts: &BundleParts) -> Self {
        let store = parts.memory_store.clone().filter(|_| tier == Tier::Durable);
        let tier_store = TierStore {
            tier,
            store: store
                .unwrap_or_else(|| Arc::new(ProcessRecords::default()) as Arc<dyn RecordStore>),
            tenant: parts.tenant.clone(),
            time: ExpiryClock::new(Arc::clone(&parts.clock)),
            limits: parts.limits.within(),
            durability: Durability::Disk,
            last_episode_micros: AtomicI64::new(-1),
            cursor: Mutex::default(),
            candidate_caches: Mutex::default(),
        };
        let origin = EntryOrigin {
            session: parts.session_id.clone(),
            trace: parts.trace_id.clone(),
            ..EntryOrigin::default()
        };
        let log = parts.event_log.clone().filter(|_| tier != Tier::Working);
        Self { store: Arc::new(tier_store), origin: Arc::new(origin), audit_hook: log }
    }

    /// Which tier this is.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.store.tier
    }

    /// Stores a value under a key, replacing an earlier one.
    ///
    /// # Errors
    /// [`MemoryError`]; nothing is stored then.
    pub fn put(&self, key: &str, value: Value, put: &PutOptions) -> Result<(), MemoryError> {
        let put = self.with_defaults(put);
        self.store.limits.check_put(key, &value, &put)?;
        self.write(EntryKind::Value, key, value, &put)
    }

    /// The value under a key, or `default` if there is none or it has expired.
    ///
    /// # Errors
    /// [`MemoryError`] if the store cannot be read or the audit hook refuses the access.
    pub fn get(&self, key: &str, default: Value) -> Result<Value, MemoryError> {
        Ok(self.entry(key)?.map_or(default, |entry| entry.value))
    }

    /// The entry under a key: the value with its source, label and origin.
    ///
    /// # Errors
    /// As [`Memory::get`].
    pub fn entry(&self, key: &str) -> Result<Option<MemoryEntry>, MemoryError> {
        check_key(key)?;
        let found = self.store.read(EntryKind::Value, key)?;
        let found = found.and_then(|stored| stored.entry(self.tier()));
        if let Some(entry) = &found {
            self.audit(Access::Get, entry)?;
        }
        Ok(found)
    }

    /// Deletes the value under a key. Returns whether there was one that had not expired.
    ///
    /// # Errors
    /// [`MemoryError`] if the store cannot be written.
    pub fn delete(&self, key: &str) -> Result<bool, MemoryError> {
        self.remove(EntryKind::Value, key)
    }

    /// A page of keys after `after`: at most `limit` and [`MAX_PAGE`].
    ///
    /// # Errors
    /// [`MemoryError`] if the store cannot be read.
    pub fn list_keys(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<EntryPage<String>, MemoryError> {
        let EntryPage { items, next } = self.list(EntryKind::Value, after, limit)?;
        Ok(EntryPage { items: items.into_iter().map(|entry| entry.key).collect(), next })
    }

    /// A page of entries of a kind with keys after `after`: at most `limit` and [`MAX_PAGE`]. A
    /// disputed fact is represented by its newest claim.
    ///
    /// # Errors
    /// [`MemoryError`] if the store cannot be read.
    pub fn list(
        &self,
        kind: EntryKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<EntryPage<MemoryEntry>, MemoryError> {
        let (found, next) = self.store.list(kind, after, limit.min(MAX_PAGE))?;
        let items = found.into_iter().filter_map(|stored| stored.entry(self.tier())).collect();
        Ok(EntryPage { items, next })
    }

    /// Deletes everything that has expired, and returns how many entries were affected.
    ///
    /// # Errors
    /// [`MemoryError`] if the store cannot be read or written.
    pub fn sweep(&self) -> Result<usize, MemoryError> {
        let now = self.store.now()?;
        EntryKind::ALL.into_iter().map(|kind| self.store.sweep_kind(kind, now)).sum()
    }

    pub(super) fn remove(&self, kind: EntryKind, key: &str) -> Result<bool, MemoryError> {
        check_key(key)?;
        self.store.change(kind, key, |stored, _| Ok((None, stored.is_some())))
    }

    pub(super) fn write(
        &self,
        kind: EntryKind,
        key: &str,
        value: Value,
        put: &PutOptions,
    ) -> Result<(), MemoryError> {
        let now = self.store.now()?.expiry;
        let claim = StoredClaim::new(1, value, put, now);
        self.audit(Access::Put, &claim.clone().entry(self.tier(), kind, key))?;
        self.store.change(kind, key, |_, now| {
            let claim = StoredClaim { created_at: now, ..claim.clone() };
            Ok((Some(MemoryRecord::new(kind, key, vec![claim])), ()))
        })
    }

    /// The options with the session and trace of the bundle filled in, and a label of at least
    /// internal: no entry of memory is public.
    pub(super) fn with_defaults(&self, put: &PutOptions) -> PutOptions {
        let mut put = put.clone();
        put.label.confidentiality = put.label.confidentiality.max(Confidentiality::Internal);
        let EntryOrigin { session, trace, .. } = &mut put.origin;
        for (field, default) in [(session, &self.origin.session), (trace, &self.origin.trace)] {
            if field.is_empty() {
                field.clone_from(default);
            }
        }
        put
    }

    pub(super) fn audit(&self, access: Access, entry: &MemoryEntry) -> Result<(), MemoryError> {
        match &self.audit_hook {
            Some(log) => log(access, entry).map_err(MemoryError::Log),
            None => Ok(()),
        }
    }
}

/// A tier held in this process, of which a snapshot can be taken.
#[derive(Clone)]
pub struct InProcessMemory(pub(super) Memory);

impl InProcessMemory {
    /// All values that have not expired, by key.
    ///
    /// # Errors
    /// [`MemoryError`] if another thread panicked while it was writing.
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
