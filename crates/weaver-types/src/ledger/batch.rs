//! A batch: changes that are applied atomically.

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
/// The most events whose payloads one batch prunes.
pub const MAX_BATCH_PRUNE: usize = 1024;

/// How durable a commit must be before it counts as done.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// It survives a crash of the process, not necessarily of the machine.
    #[default]
    Os,
    /// It is synced to disk.
    Disk,
}

/// A precondition: the batch applies only if the record has this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionGuard {
    /// The record.
    pub key: RecordKey,
    /// Its expected version; `None` for "does not exist".
    pub version: Option<u64>,
}

/// Adds to a counter, and fails the batch if the result is out of bounds. A missing counter counts
/// as zero. Its record holds the decimal number as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterChange {
    /// The counter.
    pub key: RecordKey,
    /// The amount to add.
    pub delta: i64,
    /// The least allowed result.
    pub min: i64,
    /// The greatest allowed result.
    pub max: i64,
}

/// Writes a record and increments its version, which starts at 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordWrite {
    /// The record.
    pub key: RecordKey,
    /// Its value: canonical JSON in a versioned form of the owning crate.
    pub value: Vec<u8>,
    /// When the store may drop it; `None` keeps it.
    pub expires_at: Option<Timestamp>,
}

/// Writes a record that must have the given version: guard and write in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardedWrite {
    /// The record to write.
    pub put: RecordWrite,
    /// Its version before the write; `None` for "does not exist".
    pub version: Option<u64>,
}

/// Declares that a record refers to a blob. The store keeps the blob as long as the record exists,
/// and may sweep blobs without a reference. The blob is written before the batch, by the same
/// process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobReference {
    /// The record, which the same batch writes. The next write of that record replaces its
    /// references.
    pub key: RecordKey,
    /// The blob.
    pub blob: BlobId,
}

/// An event to append. Its payload is canonical JSON without anything unredacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// What happened.
    pub kind: EventKind,
    /// Its time; if earlier than the latest time in the ledger, the ledger moves it up to that.
    pub at: Timestamp,
    /// Its run.
    pub run: Option<RunId>,
    /// Its call.
    pub call: Option<CallId>,
    /// Canonical JSON, at most [`MAX_PAYLOAD`] bytes.
    pub payload: RecordBytes,
}

/// Changes that are applied atomically: all of them or none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    /// Guards, in addition to those of `replace`.
    pub expect: Vec<VersionGuard>,
    /// Counters.
    pub add: Vec<CounterChange>,
    /// Records to write if they have a known version.
    pub replace: Vec<GuardedWrite>,
    /// Records to write unconditionally.
    pub put: Vec<RecordWrite>,
    /// Which of the written records refer to which blobs.
    pub blobs: Vec<BlobReference>,
    /// Records to delete; deleting a missing record is not an error.
    pub delete: Vec<RecordKey>,
    /// Events to append, in this order.
    pub events: Vec<NewEvent>,
    /// Sequence numbers of earlier events whose payload and salt are removed permanently, at most
    /// [`MAX_BATCH_PRUNE`]. The same batch must append an event of kind [`EventKind::Pruned`] that
    /// names exactly these. Headers stay, so all proofs stay valid.
    pub prune: Vec<u64>,
    /// When the commit counts as done.
    pub durability: Durability,
}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new(durability: Durability) -> Self {
        Self { durability, ..Self::default() }
    }

    /// Joins two batches; the stricter durability wins.
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

    /// Adds an event.
    #[must_use]
    pub fn with_event(mut self, event: NewEvent) -> Self {
        self.events.push(event);
        self
    }

    /// Adds a record that must not exist yet.
    #[must_use]
    pub fn create(mut self, key: RecordKey, value: Vec<u8>, expires_at: Option<Timestamp>) -> Self {
        self.replace
            .push(GuardedWrite { put: RecordWrite { key, value, expires_at }, version: None });
        self
    }

    /// All guards with their expected versions.
    pub fn guards(&self) -> impl Iterator<Item = (&RecordKey, Option<u64>)> {
        let replace = self.replace.iter().map(|replace| (&replace.put.key, replace.version));
        replace.chain(self.expect.iter().map(|expect| (&expect.key, expect.version)))
    }

    /// All records to write, in the order in which they are written.
    pub fn puts(&self) -> impl Iterator<Item = &RecordWrite> {
        self.replace.iter().map(|replace| &replace.put).chain(&self.put)
    }
}
