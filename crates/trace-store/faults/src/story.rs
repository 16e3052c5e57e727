//! What the program `append` writes, and what the store must hold after it.
//!
//! Batch number `n` appends event number `n`, writes, moves and removes records. Every fourth names a
//! blob, every tenth prunes two events before it. So the number of events that are left says what
//! every record must be, and which payloads are gone.

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
/// Records that are written over and over.
const KEPT: u64 = 5;

/// An acknowledgement, as `append` says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The number of the batch, which is the sequence number of its event.
    pub number: u64,
    /// What was asked for.
    pub durability: Durability,
    /// The head that came with it.
    pub head: TreeHead,
}

impl Acknowledgement {
    /// Of the receipt of batch `number`.
    #[must_use]
    pub fn new(number: u64, durability: Durability, receipt: &CommitReceipt) -> Self {
        Self { number, durability, head: receipt.head.head() }
    }

    /// The line that says so, without its end.
    #[must_use]
    pub fn line(&self) -> String {
        let level = if self.durability == Durability::Disk { "disk" } else { "os" };
        let TreeHead { log, size, root } = &self.head;
        format!("ack {} {level} {log} {size} {root}", self.number)
    }

    /// Reads a line; `None` when it says something else.
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

/// How safe batch `number` must be: both levels in turn, with runs of each.
#[must_use]
pub fn level(number: u64) -> Durability {
    if matches!(number % 5, 0 | 3) { Durability::Disk } else { Durability::Os }
}

/// Whether a barrier comes after batch `number`: it makes all before it safe.
#[must_use]
pub fn is_before_barrier(number: u64) -> bool {
    number % 10 == 7
}

/// Stores the blob that batch `number` names, if it names one.
///
/// # Errors
/// What the store reports.
pub fn blob(blobs: &dyn BlobStore, number: u64) -> Result<Option<BlobId>, LedgerError> {
    if names(number) { blobs.put(&content(number)).map(Some) } else { Ok(None) }
}

fn names(number: u64) -> bool {
    number % 4 == 3 && !prunes(number)
}

/// Some bytes, others for each number, longer than a page every now and then.
pub(crate) fn content(number: u64) -> Vec<u8> {
    let length = if number % 40 == 7 { 9_000 } else { 600 };
    number.to_le_bytes().into_iter().cycle().take(length).collect()
}

/// Whether batch `number` prunes.
fn prunes(number: u64) -> bool {
    number % 10 == 9
}

/// Whether event `number` is pruned in a log of `size` events.
fn is_pruned(number: u64, size: u64) -> bool {
    matches!(number % 10, 3 | 4) && number - number % 10 + 9 < size
}

/// Batch `number`, which names this blob.
#[must_use]
pub fn batch(number: u64, named: Option<BlobId>) -> Batch {
    let mut batch = Batch::new(level(number)).with_event(NewEvent {
        kind: if prunes(number) { EventKind::Pruned } else { EventKind::Outcome },
        at: time(number),
        run: None,
        call: None,
        payload: payload(number, named).into(),
    });
    if prunes(number) {
        batch.prune = vec![number - 6, number - 5];
    }
    batch.add.push(CounterChange { key: key("count"), delta: 1, min: 0, max: i64::MAX });
    let kept = |number: u64| key(&format!("kept-{}", number % KEPT));
    let put = |key, expires_at| RecordWrite { key, value: value(number), expires_at };
    if let Some(blob) = named {
        // What no record names is swept.
        let key = key(&format!("blob-{number}"));
        batch.put.push(put(key.clone(), None));
        batch.blobs.push(BlobReference { key, blob });
    }
    batch.put.push(put(kept(number), None));
    batch.put.push(put(key(&format!("short-{number}")), Some(time(number + 3))));
    if number % 6 == 5 {
        batch.delete.push(kept(number - 1));
    }
    batch
}

fn payload(number: u64, named: Option<BlobId>) -> Vec<u8> {
    if prunes(number) {
        let note = PruningNote::new(vec![number - 6, number - 5], PruneReason::Age, "story");
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

/// The records after `size` batches: those that must be there, exactly.
fn records(size: u64) -> BTreeMap<String, Record> {
    let mut records: BTreeMap<String, Record> = BTreeMap::new();
    let put = |records: &mut BTreeMap<String, Record>, id: String, value: Vec<u8>| {
        let version = records.get(&id).map_or(0, |record| record.version) + 1;
        records.insert(id, Record { version, value });
    };
    for number in 0..size {
        let count = (number + 1).to_string().into_bytes();
        put(&mut records, "count".to_owned(), count);
        put(&mut records, format!("kept-{}", number % KEPT), value(number));
        if names(number) {
            put(&mut records, format!("blob-{number}"), value(number));
        }
        if number % 6 == 5 {
            records.remove(&format!("kept-{}", (number - 1) % KEPT));
        }
        // What expires is forgotten once the time of the log has passed it.
        if number + 4 >= size {
            put(&mut records, format!("short-{number}"), value(number));
        }
    }
    records
}

/// What a store that was opened again holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredStore {
    /// Events that are left.
    pub size: u64,
}

/// Opens the store at `path` as the gateway would, holds it to the story, appends once more, and
/// says how many events were left.
///
/// Every head in `heads` that is not larger than what is left must be one that the log extends.
///
/// # Errors
/// What is wrong, as one sentence.
pub fn check(path: &Path, heads: &[TreeHead]) -> Result<RecoveredStore, String> {
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
    go_on(&ledger, head.size)?;
    drop(ledger);
    let ledger = open().map_err(|error| format!("it does not open again: {error}"))?;
    verify(&ledger, Some(&head)).map_err(|error| format!("it went astray: {error}"))?;
    check_opened(&ledger, head.size + 1)?;
    match ledger.open_report().torn_bytes {
        0 => Ok(RecoveredStore { size: head.size }),
        cut => Err(format!("it was closed, and {cut} bytes of it were cut off")),
    }
}

/// What opening says was left is what is there.
fn check_opened(ledger: &SqliteLedger, size: u64) -> Result<(), String> {
    let opened = ledger.open_report();
    if opened.events == size {
        Ok(())
    } else {
        Err(format!("{opened:?}, and it has {size} events"))
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
    if *payload != self::payload(number, named) || named.is_some() != names(number) {
        return Err(wrong());
    }
    let Some(id) = named else { return Ok(()) };
    match blobs.get(&id) {
        Ok(Some(bytes)) if bytes == content(number) => Ok(()),
        other => Err(format!("the blob that event {number} names: {other:?}")),
    }
}

/// The records are those of the head, no more and no less.
fn check_records(ledger: &SqliteLedger, size: u64) -> Result<(), String> {
    let expected = records(size);
    let found = ledger
        .list(&Tenant::default(), NAMESPACE, None, MAX_PAGE)
        .map_err(|error| error.to_string())?;
    let found: BTreeMap<String, Record> = found.into_iter().collect();
    if let Some((id, record)) = expected.iter().find(|(id, record)| found.get(*id) != Some(record))
    {
        let found = found.get(id);
        return Err(format!("after {size} events record {id} is {found:?}, not {record:?}"));
    }
    // Forgetting what has expired may lag behind.
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
    let named = blob(&ledger.blobs(), number)?;
    ledger.commit(batch(number, named)).wait()
}

fn go_on(ledger: &SqliteLedger, number: u64) -> Result<(), String> {
    match append(ledger, number) {
        Ok(receipt) if receipt.first_seq == Some(number) => Ok(()),
        other => Err(format!("it does not go on after {number} events: {other:?}")),
    }
}

/// What was acknowledged and is not there after a crash.
///
/// Power loss may take what was acknowledged at the level `Os`, except where something synced came
/// after it. The death of the process takes nothing.
#[must_use]
pub fn lost(acknowledged: &[Acknowledgement], left: u64, power: bool) -> Vec<u64> {
    let safe = |one: &&Acknowledgement| !power || one.durability == Durability::Disk;
    let needed = acknowledged.iter().filter(safe).map(|one| one.number + 1).max().unwrap_or(0);
    (left..needed).collect()
}
