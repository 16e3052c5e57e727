//! Errors that verification finds.

use weaver_types::ledger::LedgerError;
use weaver_types::{LogId, Timestamp};

use super::source::SideTable;
use crate::checkpoint::{CheckpointError, KeyEventError};
use crate::entry::HeaderError;
use crate::prune::PruningNoteError;

/// A fault of one event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventFault {
    /// It is missing although the log continues or the head counts it.
    #[error("it is missing")]
    Missing,
    /// It lies beyond the stored head.
    #[error("it stands beyond the stored head")]
    Extra,
    /// Its header names another position: events were swapped, moved or copied.
    #[error("its header belongs to event {seq}")]
    Misplaced {
        /// The position that the header names.
        seq: u64,
    },
    /// The header does not match the stored leaf hash: one of the two was changed.
    #[error("its header does not have the leaf hash stored beside it; one of the two was changed")]
    Leaf,
    /// The header is not in the stored form.
    #[error("{0}")]
    Header(HeaderError),
    /// It belongs to another log.
    #[error("it belongs to log {log}")]
    OtherLog {
        /// The other log.
        log: LogId,
    },
    /// It is dated before the preceding event.
    #[error("it is dated before the event before it")]
    Time,
    /// Salt and payload do not match the commitment in the header.
    #[error("its payload or salt was changed: they do not match the commitment in its header")]
    Commitment,
    /// Neither salt nor payload is there, and no later event records their pruning.
    #[error(
        "its payload and salt are gone, and no `log.pruned` event tells of it, or it is of a kind \
         that is never pruned: somebody else removed them"
    )]
    Gone,
    /// It is a `log.pruned` event with an invalid payload.
    #[error("{0}")]
    Note(PruningNoteError),
    /// It changes the key of the log and is invalid.
    #[error("it changes the key of the log and is not valid: {why}")]
    Key {
        /// What is wrong.
        why: KeyEventError,
    },
    /// Only one of salt and payload is there.
    #[error("only one of its payload and salt is there; the other was removed")]
    HalfGone,
}

impl EventFault {
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
        fault: EventFault,
    },
    /// Every event is consistent with itself, but not with the stored root.
    #[error(
        "the events from {from} to {size} do not hash to the stored root: an event was rewritten \
         together with its leaf hash, or the stored root was changed"
    )]
    Root {
        /// The first event that may have been rewritten.
        from: u64,
        /// The stored size.
        size: u64,
    },
    /// The stored frontier does not match the events.
    #[error("the stored frontier is not that of the events; the next append would go astray")]
    Frontier,
    /// A stored tile does not match the events.
    #[error(
        "tile {index} of level {level} is missing, or not that of the events; proofs from it would \
         be refused"
    )]
    Tile {
        /// Its level.
        level: u32,
        /// Its index in the level.
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
    /// The number of events that claim to be synced differs from the stored count.
    #[error(
        "{counted} events were synced when they were acknowledged, but {found} say so: what is \
         written beside an event was changed"
    )]
    Synced {
        /// The stored count.
        counted: u64,
        /// The number of events that claim it.
        found: u64,
    },
    /// The log is intact, but a table beside it was changed.
    #[error(
        "the {} not those that were written: one was changed, added or removed beside the ledger",
        match part { SideTable::Records => "records are", SideTable::Blobs => "names of the blobs are" }
    )]
    Astray {
        /// The first such table.
        part: SideTable,
    },
    /// The schema of the store is not that of a ledger.
    #[error(
        "the schema of the file is not the one that we create: {names}; somebody planted, changed \
         or removed that, and what writes the file would run it"
    )]
    Schema {
        /// The objects that are missing, changed or foreign, each in back quotes.
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
    /// The log is not an extension of the earlier head.
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
            Self::Astray { part: SideTable::Records } => "verify.records",
            Self::Astray { part: SideTable::Blobs } => "verify.blobs",
            Self::Schema { .. } => "verify.schema",
            Self::Truncated { .. } => "verify.truncated",
            Self::Forked { .. } => "verify.forked",
            Self::OtherLog { .. } => "verify.other_log",
        }
    }

    /// The first bad event, if one can be named; for a truncated log, the first missing one.
    #[must_use]
    pub fn seq(&self) -> Option<u64> {
        match self {
            Self::Event { seq, .. } => Some(*seq),
            Self::Truncated { stored, .. } => Some(*stored),
            _ => None,
        }
    }
}
