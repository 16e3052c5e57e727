//! Errors that verification finds.

use weaver_types::ledger::LedgerError;
use weaver_types::{LogId, Timestamp};

use super::source::Part;
use crate::checkpoint::{CheckpointError, KeyEventError};
use crate::entry::HeaderError;
use crate::prune::NoteError;

/// What is wrong with one event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It is not there although the log goes on or the head counts it.
    #[error("it is missing")]
    Missing,
    /// It stands beyond the stored head.
    #[error("it stands beyond the stored head")]
    Extra,
    /// Its header names another place: events were swapped, moved or copied.
    #[error("its header belongs to event {seq}")]
    Misplaced {
        /// The place that the header names.
        seq: u64,
    },
    /// Header and stored leaf hash differ: one of the two was changed.
    #[error("its header does not have the leaf hash stored beside it; one of the two was changed")]
    Leaf,
    /// The header is not of the stored form.
    #[error("{0}")]
    Header(HeaderError),
    /// It belongs to another log.
    #[error("it belongs to log {log}")]
    OtherLog {
        /// That log.
        log: LogId,
    },
    /// It is dated before the event that stands before it.
    #[error("it is dated before the event before it")]
    Time,
    /// Salt and payload are not those that the header commits to.
    #[error("its payload or salt was changed: they do not match the commitment in its header")]
    Commitment,
    /// Neither salt nor payload is there, and no later event says that they were pruned.
    #[error(
        "its payload and salt are gone, and no `log.pruned` event tells of it, or it is of a kind \
         that is never pruned: somebody else removed them"
    )]
    Gone,
    /// It is a `log.pruned` event with a payload that is none.
    #[error("{0}")]
    Note(NoteError),
    /// It changes the key of the log and is not valid.
    #[error("it changes the key of the log and is not valid: {why}")]
    Key {
        /// What is wrong.
        why: KeyEventError,
    },
    /// Only one of salt and payload is there.
    #[error("only one of its payload and salt is there; the other was removed")]
    HalfGone,
}

impl Fault {
    /// The stable code of this fault.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing => "event.missing",
            Self::Extra => "event.extra",
            Self::Misplaced { .. } => "event.misplaced",
            Self::Leaf => "event.leaf",
            Self::Header(error) => error.code(),
            Self::OtherLog { .. } => "event.other_log",
            Self::Time => "event.time",
            Self::Commitment => "event.commitment",
            Self::Gone => "event.gone",
            Self::Note(error) => error.code(),
            Self::Key { .. } => "event.key",
            Self::HalfGone => "event.half_gone",
        }
    }

    pub(crate) fn at(self, seq: u64) -> VerifyError {
        VerifyError::Event { seq, fault: self }
    }
}

/// Why a log does not verify.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The store could not be read.
    #[error("the log cannot be read: {0}")]
    Read(#[from] LedgerError),
    /// The first bad event.
    #[error("event {seq} is bad: {fault}")]
    Event {
        /// Its place.
        seq: u64,
        /// What is wrong.
        fault: Fault,
    },
    /// Every event agrees with itself, but not with the stored root.
    #[error(
        "the events from {from} to {size} do not hash to the stored root: an event was rewritten \
         together with its leaf hash, or the stored root was changed"
    )]
    Root {
        /// The first event that may be rewritten.
        from: u64,
        /// The stored size.
        size: u64,
    },
    /// The stored frontier is not that of the events.
    #[error("the stored frontier is not that of the events; the next append would go astray")]
    Frontier,
    /// A stored tile is not that of the events.
    #[error(
        "tile {index} of level {level} is missing, or not that of the events; proofs from it would \
         be refused"
    )]
    Tile {
        /// Its level.
        level: u32,
        /// Its place in the level.
        index: u64,
    },
    /// The checkpoint from outside is refused.
    #[error("the given checkpoint is refused: {0}")]
    Checkpoint(#[from] CheckpointError),
    /// The stored time of the log is not that of the last event.
    #[error(
        "the stored time of the log is {stored}, but its events end at {last}; the next event would \
         be dated wrongly, and what expires would be forgotten at the wrong time"
    )]
    Highest {
        /// The stored time.
        stored: Timestamp,
        /// The time of the last event, or the Unix epoch.
        last: Timestamp,
    },
    /// What the events say of how far they were synced is not what was counted.
    #[error(
        "{counted} events were synced when they were acknowledged, but {found} say so: what is \
         written beside an event was changed"
    )]
    Synced {
        /// Events that were counted.
        counted: u64,
        /// Events that say so.
        found: u64,
    },
    /// The log is whole, but what stands beside it is not what was written.
    #[error(
        "the {} not those that were written: one was changed, added or removed beside the ledger",
        match part { Part::Records => "records are", Part::Blobs => "names of the blobs are" }
    )]
    Astray {
        /// The first such part.
        part: Part,
    },
    /// The schema of the store is not the one that a ledger has.
    #[error(
        "the schema of the file is not the one that we create: {names}; somebody planted, changed \
         or removed that, and what writes the file would run it"
    )]
    Schema {
        /// What is missing, changed or none of ours, each in back quotes.
        names: String,
    },
    /// The log is shorter than it was.
    #[error(
        "the log was cut: it had {earlier} events when the given head was taken, now it has \
         {stored}; the first that is missing is event {stored}"
    )]
    Truncated {
        /// Events when the earlier head was taken.
        earlier: u64,
        /// Events now.
        stored: u64,
    },
    /// The log is not the one of which the earlier head was taken.
    #[error(
        "the first {size} events are not those of the given head: the log was rewritten or forked"
    )]
    Forked {
        /// The size of the earlier head.
        size: u64,
    },
    /// The earlier head is of another log.
    #[error("the given head is of log {earlier}, this is log {stored}")]
    OtherLog {
        /// The log of the earlier head.
        earlier: LogId,
        /// The log of the store.
        stored: LogId,
    },
}

impl VerifyError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Read(error) => error.code(),
            Self::Event { fault, .. } => fault.code(),
            Self::Root { .. } => "verify.root",
            Self::Frontier => "verify.frontier",
            Self::Tile { .. } => "verify.tile",
            Self::Checkpoint(error) => error.code(),
            Self::Highest { .. } => "verify.highest",
            Self::Synced { .. } => "verify.synced",
            Self::Astray { part: Part::Records } => "verify.records",
            Self::Astray { part: Part::Blobs } => "verify.blobs",
            Self::Schema { .. } => "verify.schema",
            Self::Truncated { .. } => "verify.truncated",
            Self::Forked { .. } => "verify.forked",
            Self::OtherLog { .. } => "verify.other_log",
        }
    }

    /// The first bad event, where one can be named; of a log that was cut, the first one missing.
    #[must_use]
    pub fn seq(&self) -> Option<u64> {
        match self {
            Self::Event { seq, .. } => Some(*seq),
            Self::Truncated { stored, .. } => Some(*stored),
            _ => None,
        }
    }
}
