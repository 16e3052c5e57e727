//! A context log that outlives the process: each item is a record of a store.

use std::sync::Arc;

use weaver_text::token::TokenCounter;
use weaver_types::Tenant;
use weaver_types::ledger::{
    Batch, Durability, LedgerError, MAX_PAGE, Namespace, RecordKey, RecordStore, RecordWrite,
    VersionGuard,
};

use crate::compile::{ContextItem, ContextLog, stored_item};
use crate::error::DurableLogError;

/// How often an append is tried when other processes take the next position first.
const MAX_ATTEMPTS: usize = 1_024;
/// The longest name of a log, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// A [`ContextLog`] that stores each item before adding it. Several processes may append to the same
/// log; each sees the items of the others when it appends or [refreshes](Self::refresh).
///
/// The records are in the memory namespace under `context/<name>/<index>`. A record is written only
/// if none exists at that index, so concurrent appends cannot overwrite one another.
#[derive(Debug)]
pub struct DurableLog {
    log: ContextLog,
    records: LogRecords,
}

struct LogRecords {
    records: Arc<dyn RecordStore>,
    tenant: Tenant,
    prefix: String,
}

impl std::fmt::Debug for LogRecords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LogRecords({}, {})", self.tenant, self.prefix)
    }
}

impl DurableLog {
    /// Opens the log with this name and reads all its items. A name has 1 to 64 bytes of `a` to
    /// `z`, `0` to `9`, `_` and `-`. Tokens are counted again, with this counter.
    ///
    /// # Errors
    /// [`DurableLogError`] if the name is invalid, or if the store cannot be read or holds
    /// something else.
    pub fn open(
        records: Arc<dyn RecordStore>,
        tenant: Tenant,
        name: &str,
        counter: Arc<dyn TokenCounter>,
    ) -> Result<Self, DurableLogError> {
        let is_allowed = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_allowed) {
            return Err(DurableLogError::Name { name: crate::catalog::printable(name) });
        }
        let store = LogRecords { records, tenant, prefix: format!("context/{name}/") };
        let mut log = Self { log: ContextLog::new(counter), records: store };
        log.refresh()?;
        Ok(log)
    }

    /// The log with the items read so far.
    #[must_use]
    pub fn log(&self) -> &ContextLog {
        &self.log
    }

    /// Appends an item. When this returns, the item has been synced to the store.
    ///
    /// # Errors
    /// [`DurableLogError`]; nothing was added, unless the store reports that this is unknown.
    pub fn push(&mut self, item: ContextItem) -> Result<(), DurableLogError> {
        let value = stored_item::to_bytes(&item)?;
        for _ in 0..MAX_ATTEMPTS {
            self.log.check_push(&item)?;
            let key = self.records.record_key(self.log.len());
            let mut batch = Batch::new(Durability::Disk);
            batch.expect.push(VersionGuard { key: key.clone(), version: None });
            batch.put.push(RecordWrite { key, value: value.clone(), expires_at: None });
            match self.records.records.apply(batch) {
                Ok(()) => return Ok(self.log.push(item)?),
                Err(LedgerError::Conflict { .. }) => drop(self.refresh()?),
                Err(error) => return Err(error.into()),
            }
        }
        Err(DurableLogError::Contended)
    }

    /// Reads items that other processes appended; returns how many.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn refresh(&mut self) -> Result<usize, DurableLogError> {
        let before = self.log.len();
        loop {
            let last = self.log.len().checked_sub(1).map(|index| self.records.record_id(index));
            let after = last.as_deref().unwrap_or(&self.records.prefix);
            let (tenant, namespace) = (&self.records.tenant, Namespace::Memory);
            let page = self.records.records.list(tenant, namespace, Some(after), MAX_PAGE)?;
            let more = page.len() == MAX_PAGE;
            for (id, record) in page {
                if !id.starts_with(&self.records.prefix) {
                    return Ok(self.log.len() - before);
                }
                if id != self.records.record_id(self.log.len()) {
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

impl LogRecords {
    fn record_id(&self, index: usize) -> String {
        format!("{}{index:010}", self.prefix)
    }

    fn record_key(&self, index: usize) -> RecordKey {
        RecordKey::new(self.tenant.clone(), Namespace::Memory, self.record_id(index))
    }
}
