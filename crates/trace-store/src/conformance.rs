//! Checks that every backend of the ledger port must pass.
//!
//! A backend's tests call [`check_ledger`] with a function that opens a new, empty ledger, and
//! [`check_blobs`] with a blob store. A backend that outlives its process also calls
//! [`check_reopening`]. Each returns its findings as text; an empty list means success.
//!
//! ```
//! use std::sync::Arc;
//! use weaver_trace_store::{MemoryLedger, conformance};
//! use weaver_types::{LogId, OsRandom};
//!
//! let findings = conformance::check_ledger(&mut || {
//!     let log = LogId::parse("log_example")?;
//!     Ok(Box::new(MemoryLedger::new(log, Arc::new(OsRandom))))
//! });
//! assert_eq!(findings, Vec::<String>::new());
//! ```

mod batches;
mod limits;
mod load;
mod log;
mod prune;
mod record_half;
mod records;
mod support;

use weaver_types::ledger::{
    Batch, BlobStore, Durability, Ledger, LedgerError, MAX_BLOB, RecordStore,
};

use support::{CheckOutcome, Finding, batch, ensure, event, key};

/// Why a backend could not be opened.
pub type OpenError = Box<dyn std::error::Error + Send + Sync>;

/// One check: its name, and its function on a new ledger.
type ConformanceCheck = (&'static str, fn(&dyn Ledger) -> CheckOutcome);

const CHECKS: &[ConformanceCheck] = &[
    ("an empty ledger has the empty root", log::empty),
    ("events are numbered in order and committed to", log::numbered),
    ("time never goes back", log::time),
    ("events are paged", log::paged),
    ("the head is that of the events", log::head),
    ("the receipt tells what happened", log::receipt),
    ("the level of durability is recorded", log::durability),
    ("an empty batch is a barrier", log::barrier),
    ("a batch applies whole or not at all", batches::whole),
    ("guards see the state before the batch", batches::guards),
    ("a record is replaced where it stands at the version", batches::replaced),
    ("a record that must not exist is made once", batches::once),
    ("of many who race for one record one wins", batches::race),
    ("many callers share one log", load::concurrent),
    ("too much at once is refused, not lost", load::overflow),
    ("a synced batch syncs what stands before it", load::order),
    ("a level is recorded only where it was reached", load::truthful),
    ("large batches apply whole or not at all", load::large),
    ("a reader follows the log while it grows", load::followed),
    ("a ticket can be awaited, or dropped", load::awaited),
    ("counters keep their bounds", records::counters),
    ("counters start at zero and count versions", records::counter_form),
    ("versions grow by one", records::versions),
    ("removing what is not there is no error", records::removing),
    ("a later step of a batch sees the earlier ones", records::steps),
    ("records are listed in order, by tenant and namespace", records::listed),
    ("keys are compared byte for byte", records::exact),
    ("expired records are forgotten, others are not", records::expiry),
    ("limits are refused before anything is applied", limits::refused),
    ("what just fits is taken", limits::taken),
    ("payloads are canonical", limits::canonical),
    ("pruning removes payload and salt, and nothing else", prune::removed),
    ("what is pruned is what the log tells of", prune::noted),
    ("pruning is bounded", prune::bounded),
    ("what must stay is not pruned", prune::kept),
    ("intents of the last hour are not pruned", prune::recent),
    ("what open calls and approvals rest on is not pruned", prune::open),
];

/// Runs every check, each on a new ledger from `open`.
pub fn check_ledger(open: &mut dyn FnMut() -> Result<Box<dyn Ledger>, OpenError>) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, check) in CHECKS {
        if let Err(what) = open().map_err(Finding::from).and_then(|ledger| check(ledger.as_ref())) {
            findings.push(format!("{name}: {what}"));
        }
    }
    findings
}

/// Runs the checks of records, each on a new store from `open`.
pub fn check_records(
    open: &mut dyn FnMut() -> Result<Box<dyn RecordStore>, OpenError>,
) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, check) in record_half::CHECKS {
        let found = open()
            .map_err(Finding::from)
            .and_then(|store| check(&record_half::RecordsAsLedger(store)));
        findings.extend(found.err().map(|what| format!("{name}: {what}")));
    }
    findings
}

/// Checks that acknowledged writes survive reopening; `open` opens the same ledger every time.
pub fn check_reopening(
    open: &mut dyn FnMut() -> Result<Box<dyn Ledger>, OpenError>,
) -> Vec<String> {
    reopened(open).err().into_iter().map(|what| format!("reopening: {what}")).collect()
}

fn reopened(open: &mut dyn FnMut() -> Result<Box<dyn Ledger>, OpenError>) -> CheckOutcome {
    let mut seen = None;
    for round in 0..3_u64 {
        let ledger = open()?;
        let before = (ledger.head()?, ledger.events(0, 100)?, ledger.read(&key("kept"))?);
        if let Some(seen) = seen {
            ensure(before == seen, "what is there again is not what was there")?;
        }
        ensure(before.0.size == round * 2, "acknowledged events are missing")?;
        let versions = before.2.as_ref().map(|record| record.version);
        ensure(versions == (round > 0).then_some(round), "an acknowledged record is missing")?;
        let change = batch()
            .with_event(event("{}"))
            .with_event(event("{\"n\":1}"))
            .join(support::put("kept", b"x"));
        ledger.commit(change).wait()?;
        let barrier = ledger.commit(Batch::new(Durability::Disk)).wait()?;
        ensure(ledger.synced_head() == Ok(barrier.head.head()), "a barrier does not sync")?;
        let after = ledger.events(0, 100)?;
        seen = Some((ledger.head()?, after, ledger.read(&key("kept"))?));
    }
    let ledger = open()?;
    let waiting: Vec<_> = (0..50).map(|_| ledger.commit(batch().with_event(event("{}")))).collect();
    drop(ledger);
    let taken = waiting.into_iter().filter_map(|ticket| ticket.wait().ok()).count();
    let size = open()?.head()?.size;
    ensure(size == 6 + taken as u64, "closing lost what it acknowledged, or kept what it did not")
}

/// Checks that a ledger has one writer: `open` opens the same ledger every time, and must refuse as
/// long as an earlier one is open.
pub fn check_exclusive(
    open: &mut dyn FnMut() -> Result<Box<dyn Ledger>, LedgerError>,
) -> Vec<String> {
    one_writer(open).err().into_iter().map(|what| format!("one writer: {what}")).collect()
}

fn one_writer(open: &mut dyn FnMut() -> Result<Box<dyn Ledger>, LedgerError>) -> CheckOutcome {
    let first = open()?;
    match open().map(drop) {
        Err(LedgerError::Locked { holder, .. }) => ensure(!holder.is_empty(), "nobody is named")?,
        Err(error) => {
            return Err(format!("a second is refused for the wrong reason: {error}").into());
        }
        Ok(()) => return Err("a second writer was let in".into()),
    }
    support::commit(first.as_ref(), batch().with_event(event("{}")))?;
    drop(first);
    let next = open()?;
    ensure(next.head()?.size == 1, "the next writer does not see the log")
}

/// Checks a blob store, which need not be empty.
pub fn check_blobs(blobs: &dyn BlobStore) -> Vec<String> {
    stored(blobs).err().into_iter().map(|what| format!("blobs: {what}")).collect()
}

fn stored(blobs: &dyn BlobStore) -> CheckOutcome {
    for bytes in [Vec::new(), b"one".to_vec(), vec![0xff; 300_000]] {
        let id = blobs.put(&bytes)?;
        ensure(blobs.put(&bytes) == Ok(id), "the same bytes have two names")?;
        ensure(blobs.get(&id) == Ok(Some(bytes)), "a blob is not what was written")?;
        blobs.remove(&id)?;
        ensure(blobs.get(&id) == Ok(None), "a removed blob is still there")?;
        blobs.remove(&id)?;
    }
    let (one, two) = (blobs.put(b"one")?, blobs.put(b"two")?);
    ensure(one != two, "different bytes have one name")?;
    let plain = weaver_types::Digest::of(weaver_types::digest::DomainTag::BLOB, b"one");
    ensure(one.0 != plain, "a name can be computed without the key of the store")?;
    let large = vec![0; MAX_BLOB + 1];
    ensure(
        matches!(blobs.put(&large), Err(LedgerError::Malformed(_))),
        "a blob above the limit is taken",
    )
}

#[cfg(test)]
mod tests;
