//! Records alone, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use weaver_types::ledger::{Batch, LedgerError, Namespace, Record, RecordKey, RecordStore};
use weaver_types::{Clock, Tenant, Timestamp};

use crate::limits::SWEEP;
use crate::plan::{Kept, page, plan};
use crate::prepare::{check_key, prepare_records};

/// Records that end with the process.
pub struct MemoryRecords {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    records: BTreeMap<RecordKey, Kept>,
    expiring: BTreeSet<(Timestamp, RecordKey)>,
}

impl MemoryRecords {
    /// An empty store; `clock` tells what has expired.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default() }
    }

    fn lock(&self) -> Result<MutexGuard<'_, State>, LedgerError> {
        self.state
            .lock()
            .map_err(|_| LedgerError::Failed("a thread died while it wrote".to_owned()))
    }
}

impl State {
    fn set(&mut self, key: RecordKey, kept: Option<Kept>) {
        let expires_at = kept.as_ref().and_then(|kept| kept.expires_at);
        let before = match kept {
            Some(kept) => self.records.insert(key.clone(), kept),
            None => self.records.remove(&key),
        };
        if let Some(at) = before.and_then(|before| before.expires_at) {
            self.expiring.remove(&(at, key.clone()));
        }
        self.expiring.extend(expires_at.map(|at| (at, key)));
    }

    fn sweep(&mut self, now: Timestamp, limit: usize) {
        for _ in 0..limit {
            match self.expiring.first() {
                Some((at, _)) if *at < now => {}
                _ => return,
            }
            if let Some((_, key)) = self.expiring.pop_first() {
                self.records.remove(&key);
            }
        }
    }
}

impl RecordStore for MemoryRecords {
    fn apply(&self, batch: Batch) -> Result<(), LedgerError> {
        prepare_records(&batch)?;
        let mut state = self.lock()?;
        let records = &state.records;
        let writes = plan(&batch, &mut |key| Ok(records.get(key).cloned()))?;
        let limit = SWEEP + writes.len() * 2;
        for (key, kept) in writes {
            state.set(key, kept);
        }
        state.sweep(self.clock.now(), limit);
        Ok(())
    }

    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        check_key(key)?;
        Ok(self.lock()?.records.get(key).cloned().map(Record::from))
    }

    fn list(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        Ok(page(&self.lock()?.records, (tenant, namespace), after, limit))
    }
}
