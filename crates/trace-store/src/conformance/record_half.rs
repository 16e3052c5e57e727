//! Checks of record stores. They reuse the checks of a ledger's records: the store is presented as
//! a ledger whose log is empty.

use std::sync::Arc;

use weaver_types::ledger::{
    Batch, CommitTicket, Ledger, LedgerError, Namespace, Record, RecordKey, RecordStore,
    StoredEvent, TreeHead,
};
use weaver_types::{LogId, Tenant, Timestamp};

use super::support::{CheckOutcome, add, batch, commit, ensure, event, key, put, record, refused};
use super::{ConformanceCheck, batches, limits, records};
use crate::log::LogTip;

/// A record store presented as a ledger without events.
pub(super) struct RecordsAsLedger(pub(super) Box<dyn RecordStore>);

pub(super) const CHECKS: &[ConformanceCheck] = &[
    ("guards see the state before the batch", batches::guards),
    ("a record is replaced where it stands at the version", batches::replaced),
    ("counters keep their bounds", records::counters),
    ("counters start at zero and count versions", records::counter_form),
    ("versions grow by one", records::versions),
    ("removing what is not there is no error", records::removing),
    ("a later step of a batch sees the earlier ones", records::steps),
    ("records are listed in order, by tenant and namespace", records::listed),
    ("keys are compared byte for byte", records::exact),
    ("limits are refused before anything is applied", limits::refused),
    ("a batch applies whole or not at all", whole),
    ("of many who race for one record one wins", race),
    ("a counter that many move counts every move", counted),
    ("events are refused", eventless),
];

impl RecordsAsLedger {
    fn empty() -> Result<TreeHead, LedgerError> {
        let log = LogId::parse("log_none").map_err(|e| LedgerError::Malformed(e.to_string()))?;
        Ok(LogTip::new(log).head())
    }
}

impl Ledger for RecordsAsLedger {
    fn submit(&self, batch: Arc<Batch>) -> CommitTicket {
        let durability = batch.durability;
        let receipt = self.0.apply(Arc::unwrap_or_clone(batch)).and_then(|()| {
            let (at, head) = (Timestamp::default(), Self::empty()?);
            Ok(weaver_types::ledger::CommitReceipt {
                first_seq: None,
                at,
                durability,
                head: head.into(),
            })
        });
        CommitTicket::ready(receipt)
    }

    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        self.0.read(key)
    }

    fn list(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        self.0.list(tenant, namespace, after, limit)
    }

    fn events(&self, _: u64, _: usize) -> Result<Vec<StoredEvent>, LedgerError> {
        Ok(Vec::new())
    }

    fn head(&self) -> Result<TreeHead, LedgerError> {
        Self::empty()
    }

    fn synced_head(&self) -> Result<TreeHead, LedgerError> {
        Self::empty()
    }
}

fn whole(store: &dyn Ledger) -> CheckOutcome {
    commit(store, put("a", b"1"))?;
    let change = || put("b", b"2").join(add("n", 1, 0..=9));
    let once = || batch().create(key("a"), b"2".to_vec(), None);
    refused(store, change().join(once()), |error| matches!(error, LedgerError::Conflict { .. }))?;
    refused(store, change().join(add("m", 5, 0..=4)), |error| {
        matches!(error, LedgerError::OutOfBounds { .. })
    })?;
    ensure(record(store, "n")?.is_none(), "a counter of a refused batch moved")?;
    commit(store, change())?;
    ensure(record(store, "n")? == Some((1, b"1".to_vec())), "the counter did not move")?;
    ensure(record(store, "b")? == Some((1, b"2".to_vec())), "the record was not written")
}

fn race(store: &dyn Ledger) -> CheckOutcome {
    let rounds = 20;
    let won: Option<usize> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(move || {
                    let used = |n: usize| batch().create(key(&format!("t{n}")), Vec::new(), None);
                    (0..rounds).filter(|n| store.commit(used(*n)).wait().is_ok()).count()
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().ok()).sum()
    });
    let won = won.ok_or("a thread of the races panicked")?;
    ensure(won == rounds, format!("{won} wins in {rounds} races"))
}

fn counted(store: &dyn Ledger) -> CheckOutcome {
    let moved: Option<usize> = std::thread::scope(|scope| {
        let movers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(move || {
                    let one = || add("n", 1, 0..=100);
                    (0..20).filter(|_| store.commit(one()).wait().is_ok()).count()
                })
            })
            .collect();
        movers.into_iter().map(|mover| mover.join().ok()).sum()
    });
    let moved = moved.ok_or("a thread that moves the counter panicked")?;
    ensure(moved == 100, format!("{moved} of 100 moves were taken"))?;
    let found = record(store, "n")?.map(|(_, value)| value);
    ensure(found == Some(b"100".to_vec()), "the counter does not stand at its bound")
}

fn eventless(store: &dyn Ledger) -> CheckOutcome {
    let told = put("a", b"1").with_event(event("{}"));
    refused(store, told, |error| matches!(error, LedgerError::Malformed(_)))?;
    let pruning = Batch { prune: vec![0], ..put("a", b"1") };
    refused(store, pruning, |error| matches!(error, LedgerError::Malformed(_)))?;
    ensure(store.read(&key("a"))?.is_none(), "a refused batch was applied")
}
