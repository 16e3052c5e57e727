//! The deterministic workload of the program `append`, and the state that the store must have after
//! it.
//!
//! Batch `n` appends event `n`, and writes and deletes records. Every fourth batch references a
//! blob, and every tenth prunes two earlier events. So the number of recovered events determines
//! every record, and which payloads are pruned.

use std::collections::BTreeMap;
use std::path::Path;

use weaver_trace_store::prune::{PruneReason, PruningNote};
use weaver_trace_store::verify::verify;
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::digest::Digest;
use weaver_types::ledger::{
    Batch, BlobId, BlobReference, BlobStore, CommitReceipt, CounterChange, Durability, Ledger,
    LedgerError, MAX_PAGE, Namespace, NewEvent, Record, RecordKey, RecordWrite, StoredEvent,
    TreeHead,
};
use weaver_types::{EventKind, LogId, Tenant, Timestamp};

const NAMESPACE: Namespace = Namespace::TokenUse;
/// How many records are written again and again.
const REUSED_RECORDS: u64 = 5;

/// An acknowledgement, as `append` prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The number of the batch, which is the sequence number of its event.
    pub number: u64,
    /// The durability that was requested.
    pub durability: Durability,
    /// The tree head of the receipt.
    pub head: TreeHead,
}

impl Acknowledgement {
    /// The acknowledgement for the receipt of batch `number`.
    #[must_use]
    pub fn new(number: u64, durability: Durability, receipt: &CommitReceipt) -> Self {
        Self { number, durability, head: receipt.head.head() }
    }

    /// The acknowledgement as a line, without the line break.
    #[must_use]
    pub fn line(&self) -> String {
        let durability = if self.durability == Durability::Disk { "disk" } else { "os" };
        let TreeHead { log, size, root } = &self.head;
        format!("ack {} {durability} {log} {size} {root}", self.number)
    }

    /// Parses a line; `None` if it is not an acknowledgement.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("ack ")?.split(' ');
        Some(Self {
            number: words.next()?.parse().ok()?,
            durability: match words.next()? {
                "disk" => Durability::Disk,
                "os" => Durability::Os,
                _ => return None,
            },
            head: TreeHead {
                log: LogId::parse(words.next()?).ok()?,
                size: words.next()?.parse().ok()?,
                root: words.next()?.parse::<Digest>().ok()?,
            },
        })
    }
}

/// The durability that batch `number` requests: both levels alternate, with several in a row of
/// each.
#[must_use]
pub fn durability_of(number: u64) -> Durability {
    if matches!(number % 5, 0 | 3) { Durability::Disk } else { Durability::Os }
}

/// Whether a barrier follows batch `number`, which makes all earlier batches durable.
#[must_use]
pub fn is_before_barrier(number: u64) -> bool {
    number % 10 == 7
}

/// Stores the blob that batch `number` references, if any.
///
/// # Errors
/// What the store reports.
pub fn put_blob(blobs: &dyn BlobStore, number: u64) -> Result<Option<BlobId>, LedgerError> {
    if has_blob(number) { blobs.put(&content(number)).map(Some) } else { Ok(None) }
}

fn has_blob(number: u64) -> bool {
    number % 4 == 3 && !has_pruning(number)
}

/// The content of blob `number`: different for each number, and sometimes longer than a page.
pub(crate) fn content(number: u64) -> Vec<u8> {
    let length = if number % 40 == 7 { 9_000 } else { 600 };
    number.to_le_bytes().into_iter().cycle().take(length).collect()
}

/// Whether batch `number` prunes events.
fn has_pruning(number: u64) -> bool {
    number % 10 == 9
}

/// Whether event `number` is pruned in a log of `size` events.
fn is_pruned(number: u64, size: u64) -> bool {
    matches!(number % 10, 3 | 4) && number - number % 10 + 9 < size
}

/// Batch `number`, which references this blob.
#[must_use]
pub fn batch(number: u64, named: Option<BlobId>) -> Batch {
    let mut batch = Batch::new(durability_of(number)).with_event(NewEvent {
        kind: if has_pruning(number) { EventKind::Pruned } else { EventKind::Outcome },
        at: time(number),
        run: None,
        call: None,
        payload: payload(number, named).into(),
    });
    if has_pruning(number) {
        batch.prune = vec![number - 6, number - 5];
    }
    batch.add.push(CounterChange { key: key("count"), delta: 1, min: 0, max: i64::MAX });
    let reused_key = |number: u64| key(&format!("kept-{}", number % REUSED_RECORDS));
    let put = |key, expires_at| RecordWrite { key, value: value(number), expires_at };
    if let Some(blob) = named {
        // A blob without a reference is swept.
        let key = key(&format!("blob-{number}"));
        batch.put.push(put(key.clone(), None));
        batch.blobs.push(BlobReference { key, blob });
    }
    batch.put.push(put(reused_key(number), None));
    batch.put.push(put(key(&format!("short-{number}")), Some(time(number + 3))));
    if number % 6 == 5 {
        batch.delete.push(reused_key(number - 1));
    }
    batch
}

fn payload(number: u64, named: Option<BlobId>) -> Vec<u8> {
    if has_pruning(number) {
        let note = PruningNote::new(vec![number - 6, number - 5], PruneReason::Age, "workload");
        return note.and_then(|note| note.to_bytes()).unwrap_or_default();
    }
    let named = named.map_or_else(|| "null".to_owned(), |blob| format!("\"{blob}\""));
    format!("{{\"blob\":{named},\"n\":{number}}}").into_bytes()
}

fn time(number: u64) -> Timestamp {
    Timestamp::from_micros(1_000 + i64::try_from(number).unwrap_or(i64::MAX / 2))
}

fn value(number: u64) -> Vec<u8> {
    format!("{{\"written\":{number}}}").into_bytes()
}

fn key(id: &str) -> RecordKey {
    RecordKey::new(Tenant::default(), NAMESPACE, id)
}

/// The exact records after `size` batches.
fn records(size: u64) -> BTreeMap<String, Record> {
    let mut records: BTreeMap<String, Record> = BTreeMap::new();
    let put = |records: &mut BTreeMap<String, Record>, id: String, value: Vec<u8>| {
        let version = records.get(&id).map_or(0, |record| record.version) + 1;
        records.insert(id, Record { version, value });
    };
    for number in 0..size {
        let count = (number + 1).to_string().into_bytes();
        put(&mut records, "count".to_owned(), count);
        put(&mut records, format!("kept-{}", number % REUSED_RECORDS), value(number));
        if has_blob(number) {
            put(&mut records, format!("blob-{number}"), value(number));
        }
        if number % 6 == 5 {
            records.remove(&format!("kept-{}", (number - 1) % REUSED_RECORDS));
        }
        // A record is swept once the time of the log has passed its expiry.
        if number + 4 >= size {
            put(&mut records, format!("short-{number}"), value(number));
        }
    }
    records
}

/// What was recovered by opening a store again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredLog {
    /// The number of events.
    pub size: u64,
}

/// Opens the store at `path` as the gateway would, compares it with the workload, appends once
/// more, and returns how many events it recovered.
///
/// The log must extend the last head in `heads` that is not larger than the recovered log.
///
/// # Errors
/// The first deviation, as a sentence.
pub fn check_recovery(path: &Path, heads: &[TreeHead]) -> Result<RecoveredLog, String> {
    let open = || SqliteLedger::open(path, OpenOptions::default());
    let ledger = open().map_err(|error| format!("it does not open: {error}"))?;
    let head = ledger.head().map_err(|error| error.to_string())?;
    check_opened(&ledger, head.size)?;
    let known = heads.iter().rev().find(|known| known.size <= head.size);
    let report = verify(&ledger, known).map_err(|error| format!("it does not verify: {error}"))?;
    if report.head != head {
        return Err(format!("verified {:?}, opened {head:?}", report.head));
    }
    check_events(&ledger, head.size)?;
    check_records(&ledger, head.size)?;
    append_next(&ledger, head.size)?;
    drop(ledger);
    let ledger = open().map_err(|error| format!("it does not open again: {error}"))?;
    verify(&ledger, Some(&head))
        .map_err(|error| format!("it does not verify after an append: {error}"))?;
    check_opened(&ledger, head.size + 1)?;
    match ledger.open_report().torn_bytes {
        0 => Ok(RecoveredLog { size: head.size }),
        cut => Err(format!("{cut} bytes were cut off although it had been closed")),
    }
}

/// Compares the report of opening with the size of the log.
fn check_opened(ledger: &SqliteLedger, size: u64) -> Result<(), String> {
    let opened = ledger.open_report();
    if opened.events == size {
        Ok(())
    } else {
        Err(format!("opening reported {opened:?}, but the log has {size} events"))
    }
}

fn check_events(ledger: &SqliteLedger, size: u64) -> Result<(), String> {
    let blobs = ledger.blobs();
    let mut next = 0;
    while next < size {
        let events = ledger.events(next, MAX_PAGE).map_err(|error| error.to_string())?;
        for event in events {
            check_event(&event, next, size, &blobs)?;
            next += 1;
        }
    }
    Ok(())
}

fn check_event(
    event: &StoredEvent,
    number: u64,
    size: u64,
    blobs: &dyn BlobStore,
) -> Result<(), String> {
    let wrong = || format!("event {number} of {size} is {event:?}");
    let payload = match &event.payload {
        None if is_pruned(number, size) => return Ok(()),
        Some(payload) if !is_pruned(number, size) => payload,
        _ => return Err(wrong()),
    };
    let text = String::from_utf8_lossy(payload).into_owned();
    let blob = text.strip_prefix("{\"blob\":\"").and_then(|rest| rest.split('"').next());
    let named = blob.and_then(|blob| blob.parse::<Digest>().ok()).map(BlobId);
    if *payload != self::payload(number, named) || named.is_some() != has_blob(number) {
        return Err(wrong());
    }
    let Some(id) = named else { return Ok(()) };
    match blobs.get(&id) {
        Ok(Some(bytes)) if bytes == content(number) => Ok(()),
        other => Err(format!("the blob that event {number} names: {other:?}")),
    }
}

/// Checks that the records are exactly those of a log of this size.
fn check_records(ledger: &SqliteLedger, size: u64) -> Result<(), String> {
    let expected = records(size);
    let mut found: BTreeMap<String, Record> = BTreeMap::new();
    loop {
        let last = found.last_key_value().map(|(id, _)| id.as_str());
        let page = ledger.list(&Tenant::default(), NAMESPACE, last, MAX_PAGE);
        let page = page.map_err(|error| error.to_string())?;
        if page.is_empty() {
            break;
        }
        found.extend(page);
    }
    if let Some((id, record)) = expected.iter().find(|(id, record)| found.get(*id) != Some(record))
    {
        let found = found.get(id);
        return Err(format!("after {size} events record {id} is {found:?}, not {record:?}"));
    }
    // Expired records may be swept later.
    match found.keys().find(|id| !expected.contains_key(*id) && !id.starts_with("short-")) {
        Some(id) => Err(format!("after {size} events there is a record {id}")),
        None => Ok(()),
    }
}

/// Appends batch `number`.
///
/// # Errors
/// What the ledger reports.
pub fn append(ledger: &SqliteLedger, number: u64) -> Result<CommitReceipt, LedgerError> {
    let named = put_blob(&ledger.blobs(), number)?;
    ledger.commit(batch(number, named)).wait()
}

fn append_next(ledger: &SqliteLedger, number: u64) -> Result<(), String> {
    match append(ledger, number) {
        Ok(receipt) if receipt.first_seq == Some(number) => Ok(()),
        other => Err(format!("it cannot append after {number} events: {other:?}")),
    }
}

/// The acknowledged batches that are missing after a crash.
///
/// Power loss may take batches that were acknowledged with [`Durability::Os`], unless a synced
/// batch followed. The death of the process may take none.
#[must_use]
pub fn lost_batches(
    acknowledged: &[Acknowledgement],
    recovered_size: u64,
    power_loss: bool,
) -> Vec<u64> {
    let is_guaranteed = |one: &&Acknowledgement| !power_loss || one.durability == Durability::Disk;
    let needed =
        acknowledged.iter().filter(is_guaranteed).map(|one| one.number + 1).max().unwrap_or(0);
    (recovered_size..needed).collect()
}
