//! A log that outlives the process: each item is a record of a store.

use std::sync::Arc;

use weaver_text::token::TokenCounter;
use weaver_types::Tenant;
use weaver_types::ledger::{
    Batch, Durability, Expect, LedgerError, MAX_PAGE, Namespace, Put, RecordKey, RecordStore,
};

use crate::compile::{ContextItem, ContextLog, stored_item};
use crate::error::DurableLogError;

/// How often an item is tried at the end because others have put theirs there.
const MAX_TRIES: usize = 1_024;
/// The longest name of a log, in bytes.
const MAX_NAME: usize = 64;

/// A [`ContextLog`] of which each item is written down before it is in the log. Several processes
/// may add to one, and each sees what the others added when it adds or [refreshes](Self::refresh).
///
/// The records lie in the namespace of memory, under `context/`, the name and the place.
#[derive(Debug)]
pub struct DurableLog {
    log: ContextLog,
    store: Store,
}

struct Store {
    records: Arc<dyn RecordStore>,
    tenant: Tenant,
    prefix: String,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({}, {})", self.tenant, self.prefix)
    }
}

impl DurableLog {
    /// The log of this name, with all that was ever added to it. The name has 1 to 64 bytes of
    /// `a` to `z`, `0` to `9`, `_` and `-`. Tokens are counted anew, by this counter.
    ///
    /// # Errors
    /// [`DurableLogError`], when the name is none, and when the store cannot be read or holds
    /// something else.
    pub fn open(
        records: Arc<dyn RecordStore>,
        tenant: Tenant,
        name: &str,
        counter: Arc<dyn TokenCounter>,
    ) -> Result<Self, DurableLogError> {
        let is_plain = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_plain) {
            return Err(DurableLogError::Name { name: crate::catalog::shown(name) });
        }
        let store = Store { records, tenant, prefix: format!("context/{name}/") };
        let mut log = Self { log: ContextLog::new(counter), store };
        log.refresh()?;
        Ok(log)
    }

    /// The items.
    #[must_use]
    pub fn log(&self) -> &ContextLog {
        &self.log
    }

    /// Adds an item at the end; when this returns, it is synced to where the store keeps it.
    ///
    /// # Errors
    /// [`DurableLogError`]; nothing was added then, unless the store itself says that it is unknown.
    pub fn push(&mut self, item: ContextItem) -> Result<(), DurableLogError> {
        let value = stored_item::to_bytes(&item)?;
        for _ in 0..MAX_TRIES {
            self.log.would_take(&item)?;
            let key = self.store.key(self.log.len());
            let mut batch = Batch::new(Durability::Disk);
            batch.expect.push(Expect { key: key.clone(), version: None });
            batch.put.push(Put { key, value: value.clone(), expires_at: None });
            match self.store.records.apply(batch) {
                Ok(()) => return Ok(self.log.push(item)?),
                Err(LedgerError::Conflict { .. }) => drop(self.refresh()?),
                Err(error) => return Err(error.into()),
            }
        }
        Err(DurableLogError::Contended)
    }

    /// Takes in what others have added; how many items that were.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn refresh(&mut self) -> Result<usize, DurableLogError> {
        let before = self.log.len();
        loop {
            let last = self.log.len().checked_sub(1).map(|place| self.store.id(place));
            let after = last.as_deref().unwrap_or(&self.store.prefix);
            let (tenant, namespace) = (&self.store.tenant, Namespace::Memory);
            let page = self.store.records.list(tenant, namespace, Some(after), MAX_PAGE)?;
            let more = page.len() == MAX_PAGE;
            for (id, record) in page {
                if !id.starts_with(&self.store.prefix) {
                    return Ok(self.log.len() - before);
                }
                if id != self.store.id(self.log.len()) {
                    let problem = "the one before it is missing".to_owned();
                    return Err(DurableLogError::Damaged { record: id, problem });
                }
                self.log.push(stored_item::from_bytes(&id, &record.value)?)?;
            }
            if !more {
                return Ok(self.log.len() - before);
            }
        }
    }
}

impl Store {
    fn id(&self, place: usize) -> String {
        format!("{}{place:010}", self.prefix)
    }

    fn key(&self, place: usize) -> RecordKey {
        RecordKey::new(self.tenant.clone(), Namespace::Memory, self.id(place))
    }
}
