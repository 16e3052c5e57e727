//! What the checks find in backends that do something wrong.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use weaver_types::ledger::{
    BlobId, CommitReceipt, CommitTicket, CounterChange, Namespace, Record, RecordKey, StoredEvent,
    TreeHead,
};
use weaver_types::{Digest, EventKind, LogId, OsRandom, Random, RandomError, Tenant, Timestamp};

use super::*;
use crate::limits::MAX_BATCH_RECORDS;
use crate::{MemoryBlobs, MemoryLedger};

type Page = Vec<(String, Record)>;

/// A ledger that does one thing otherwise than the one in memory.
struct Faulty {
    inner: MemoryLedger,
    commit: fn(&MemoryLedger, Batch) -> Result<CommitReceipt, LedgerError>,
    events: fn(u64, &mut Vec<StoredEvent>),
    head: fn(&mut TreeHead),
    synced: fn(&mut TreeHead),
    record: fn(&RecordKey, &mut Option<Record>),
    list: fn(&Tenant, &mut Page),
}

fn log() -> LogId {
    LogId::parse("log_1").unwrap()
}

fn right(ledger: &MemoryLedger, batch: Batch) -> Result<CommitReceipt, LedgerError> {
    ledger.commit(batch).wait()
}

/// One that does nothing wrong.
fn honest() -> Faulty {
    Faulty {
        inner: MemoryLedger::new(log(), Arc::new(OsRandom)),
        commit: right,
        events: |_, _| {},
        head: |_| {},
        synced: |_| {},
        record: |_, _| {},
        list: |_, _| {},
    }
}

impl Ledger for Faulty {
    fn submit(&self, batch: Arc<Batch>) -> CommitTicket {
        CommitTicket::ready((self.commit)(&self.inner, Arc::unwrap_or_clone(batch)))
    }

    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        let mut record = self.inner.read(key)?;
        (self.record)(key, &mut record);
        Ok(record)
    }

    fn list(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, LedgerError> {
        let mut page = self.inner.list(tenant, namespace, after, limit)?;
        (self.list)(tenant, &mut page);
        Ok(page)
    }

    fn events(&self, from: u64, limit: usize) -> Result<Vec<StoredEvent>, LedgerError> {
        let mut events = self.inner.events(from, limit)?;
        (self.events)(from, &mut events);
        Ok(events)
    }

    fn head(&self) -> Result<TreeHead, LedgerError> {
        let mut head = self.inner.head()?;
        (self.head)(&mut head);
        Ok(head)
    }

    fn synced_head(&self) -> Result<TreeHead, LedgerError> {
        let mut head = self.inner.synced_head()?;
        (self.synced)(&mut head);
        Ok(head)
    }
}

fn with_commit(commit: fn(&MemoryLedger, Batch) -> Result<CommitReceipt, LedgerError>) -> Faulty {
    Faulty { commit, ..honest() }
}

fn with_events(events: fn(u64, &mut Vec<StoredEvent>)) -> Faulty {
    Faulty { events, ..honest() }
}

/// Gives a receipt that was changed.
macro_rules! told {
    (|$batch:ident, $receipt:ident| $change:expr) => {
        with_commit(|ledger, $batch| {
            let mut $receipt = right(ledger, $batch.clone())?;
            $change;
            Ok($receipt)
        })
    };
}

type EventRow = (fn(&dyn Ledger) -> CheckOutcome, Faulty, &'static str);

fn found<const N: usize>(rows: [EventRow; N]) {
    for (check, faulty, wanted) in rows {
        let said = check(&faulty).err().map(|what| what.to_string()).unwrap_or_default();
        assert!(said.contains(wanted), "found `{said}` where it should be `{wanted}`");
    }
}

fn other_root(head: &TreeHead) -> TreeHead {
    TreeHead { root: Digest::from_bytes([9; 32]), ..head.clone() }
}

mod backends;
mod bounds;
mod counters;
mod events;
mod guards;
mod pressure;
mod pruning;
