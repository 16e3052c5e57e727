//! The in-memory record store.

use std::sync::{Arc, Mutex, MutexGuard};

use weaver_types::ledger::{Batch, LedgerError, Namespace, Record, RecordKey, RecordStore};
use weaver_types::{Clock, Tenant};

use crate::prepare::{check_key, prepare_records};
use crate::record_map::RecordMap;

/// Records that live as long as the process.
pub struct MemoryRecords {
    clock: Arc<dyn Clock>,
    records: Mutex<RecordMap>,
}

impl MemoryRecords {
    /// An empty store; `clock` determines what has expired.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, records: Mutex::default() }
    }

    fn lock(&self) -> Result<MutexGuard<'_, RecordMap>, LedgerError> {
        self.records
            .lock()
            .map_err(|_| LedgerError::Failed("a thread died while it wrote".to_owned()))
    }
}

impl RecordStore for MemoryRecords {
    fn apply(&self, batch: Batch) -> Result<(), LedgerError> {
        prepare_records(&batch)?;
        let mut records = self.lock()?;
        let writes = records.plan(&batch)?;
        records.write(writes, self.clock.now());
        Ok(())
    }

    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        check_key(key)?;
        Ok(self.lock()?.get(key).cloned().map(Record::from))
    }

    fn list(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        Ok(self.lock()?.page(tenant, namespace, after, limit))
    }
}
