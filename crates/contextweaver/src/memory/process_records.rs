//! A record store in memory, for tiers that have no file.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeInclusive};
use std::sync::{Mutex, MutexGuard};

use weaver_types::Tenant;
use weaver_types::ledger::{
    Batch, LedgerError, MAX_PAGE, Namespace, Record, RecordKey, RecordStore,
};

/// Records that last as long as the process.
#[derive(Default)]
pub(super) struct ProcessRecords(Mutex<BTreeMap<RecordKey, Record>>);

/// The changes of a batch before they are applied, so that a batch is applied completely or not at
/// all.
struct StagedBatch<'a> {
    records: &'a BTreeMap<RecordKey, Record>,
    changed: BTreeMap<RecordKey, Option<Record>>,
}

impl StagedBatch<'_> {
    fn get(&self, key: &RecordKey) -> Option<&Record> {
        self.changed.get(key).map_or_else(|| self.records.get(key), Option::as_ref)
    }

    fn put(&mut self, key: RecordKey, value: Vec<u8>) {
        let version = self.get(&key).map_or(1, |record| record.version.saturating_add(1));
        self.changed.insert(key, Some(Record { version, value }));
    }

    fn add(
        &mut self,
        key: RecordKey,
        delta: i64,
        bounds: RangeInclusive<i64>,
    ) -> Result<(), LedgerError> {
        let number = match self.get(&key) {
            None => 0,
            Some(record) => std::str::from_utf8(&record.value)
                .ok()
                .and_then(|text| text.parse::<i64>().ok())
                .ok_or_else(|| LedgerError::Damaged(format!("{key} is not a counter")))?,
        };
        match number.checked_add(delta) {
            Some(next) if bounds.contains(&next) => {
                self.put(key, next.to_string().into_bytes());
                Ok(())
            }
            _ => Err(LedgerError::OutOfBounds { key }),
        }
    }
}

impl ProcessRecords {
    fn lock(&self) -> Result<MutexGuard<'_, BTreeMap<RecordKey, Record>>, LedgerError> {
        let died = |_| LedgerError::Failed("a thread died while it wrote".to_owned());
        self.0.lock().map_err(died)
    }
}

impl RecordStore for ProcessRecords {
    fn apply(&self, batch: Batch) -> Result<(), LedgerError> {
        let mut records = self.lock()?;
        let mut staged = StagedBatch { records: &records, changed: BTreeMap::new() };
        for (key, version) in batch.guards() {
            if staged.get(key).map(|record| record.version) != version {
                return Err(LedgerError::Conflict { key: key.clone() });
            }
        }
        for add in &batch.add {
            staged.add(add.key.clone(), add.delta, add.min..=add.max)?;
        }
        for put in batch.puts() {
            staged.put(put.key.clone(), put.value.clone());
        }
        for key in batch.delete {
            staged.changed.insert(key, None);
        }
        for (key, record) in staged.changed {
            match record {
                Some(record) => records.insert(key, record),
                None => records.remove(&key),
            };
        }
        Ok(())
    }

    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        Ok(self.lock()?.get(key).cloned())
    }

    fn list(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        let records = self.lock()?;
        let from = RecordKey::new(tenant.clone(), namespace, after.unwrap_or_default());
        Ok(records
            .range((Bound::Excluded(from), Bound::Unbounded))
            .take_while(|(key, _)| key.tenant == *tenant && key.namespace == namespace)
            .take(limit.min(MAX_PAGE))
            .map(|(key, record)| (key.id.as_ref().to_owned(), record.clone()))
            .collect())
    }
}
