//! A batch: everything that changes in one instant.

use serde::{Deserialize, Serialize};

use super::{BlobId, RecordKey};
use crate::canonical::RecordBytes;
use crate::event::EventKind;
use crate::id::{CallId, RunId};
use crate::time::Timestamp;

/// The largest payload of one event, in bytes of canonical JSON.
pub const MAX_PAYLOAD: usize = 256 * 1024;
/// The most events in one batch.
pub const MAX_BATCH_EVENTS: usize = 1024;
/// The most events of which one batch prunes the payloads.
pub const MAX_BATCH_PRUNE: usize = 1024;

/// When a commit counts as done.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// It survives the death of the process, not necessarily of the machine.
    #[default]
    Os,
    /// It is synced to disk.
    Disk,
}

/// A guard: the batch applies only if the record stands at this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expect {
    /// The record.
    pub key: RecordKey,
    /// Its version; `None` for "does not exist".
    pub version: Option<u64>,
}

/// Moves a counter, and fails the batch if it would leave its bounds. A counter that does not
/// exist stands at zero. Its record holds the decimal number as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Add {
    /// The counter.
    pub key: RecordKey,
    /// By how much.
    pub delta: i64,
    /// Least value after.
    pub min: i64,
    /// Greatest value after.
    pub max: i64,
}

/// Writes a record; its version grows by one, starting at 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// The record.
    pub key: RecordKey,
    /// Its value: a versioned canonical JSON form of its owner.
    pub value: Vec<u8>,
    /// When the store may forget it; `None` keeps it.
    pub expires_at: Option<Timestamp>,
}

/// Writes a record that stands at this version: a guard and a write under one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replace {
    /// The record after.
    pub put: Put,
    /// Its version before; `None` for "does not exist".
    pub version: Option<u64>,
}

/// Says that a record names a blob: the store keeps the blob as long as the record stands, and may
/// sweep blobs that no record names. The blob is written before the batch, by the same process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobUse {
    /// The record; the same batch writes it. Written again, it names what that batch says.
    pub key: RecordKey,
    /// The blob.
    pub blob: BlobId,
}

/// An event to append. Its payload is canonical JSON and holds nothing unredacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// What happened.
    pub kind: EventKind,
    /// When; the ledger moves it up to its own highest time if it lies before.
    pub at: Timestamp,
    /// In which run.
    pub run: Option<RunId>,
    /// In which call.
    pub call: Option<CallId>,
    /// Canonical JSON, at most [`MAX_PAYLOAD`] bytes.
    pub payload: RecordBytes,
}

/// Everything that changes in one instant: applied whole, or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    /// Guards, beside those of `replace`.
    pub expect: Vec<Expect>,
    /// Counters.
    pub add: Vec<Add>,
    /// Records to write in place of one of a known version.
    pub replace: Vec<Replace>,
    /// Records to write, whatever stands there.
    pub put: Vec<Put>,
    /// Which of the records to write name which blobs.
    pub blobs: Vec<BlobUse>,
    /// Records to remove; removing what does not exist is no error.
    pub delete: Vec<RecordKey>,
    /// Events to append, in this order.
    pub events: Vec<NewEvent>,
    /// Sequence numbers of earlier events whose payload and salt are removed for good, at most
    /// [`MAX_BATCH_PRUNE`]. The same batch appends an event of the kind
    /// [`EventKind::Pruned`] that names exactly these. Headers stay, and so do all proofs.
    pub prune: Vec<u64>,
    /// When it counts as done.
    pub durability: Durability,
}

impl Batch {
    /// A batch with nothing in it.
    #[must_use]
    pub fn new(durability: Durability) -> Self {
        Self { durability, ..Self::default() }
    }

    /// Both as one; the stricter durability wins.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        self.expect.extend(other.expect);
        self.add.extend(other.add);
        self.replace.extend(other.replace);
        self.put.extend(other.put);
        self.blobs.extend(other.blobs);
        self.delete.extend(other.delete);
        self.events.extend(other.events);
        self.prune.extend(other.prune);
        self.durability = self.durability.max(other.durability);
        self
    }

    /// The same with one more event.
    #[must_use]
    pub fn with_event(mut self, event: NewEvent) -> Self {
        self.events.push(event);
        self
    }

    /// The same with a record that must not exist yet.
    #[must_use]
    pub fn create(mut self, key: RecordKey, value: Vec<u8>, expires_at: Option<Timestamp>) -> Self {
        self.replace.push(Replace { put: Put { key, value, expires_at }, version: None });
        self
    }

    /// All guards, each with the version that it asks for.
    pub fn guards(&self) -> impl Iterator<Item = (&RecordKey, Option<u64>)> {
        let replace = self.replace.iter().map(|replace| (&replace.put.key, replace.version));
        replace.chain(self.expect.iter().map(|expect| (&expect.key, expect.version)))
    }

    /// All records to write, in the order in which they are written.
    pub fn puts(&self) -> impl Iterator<Item = &Put> {
        self.replace.iter().map(|replace| &replace.put).chain(&self.put)
    }
}
