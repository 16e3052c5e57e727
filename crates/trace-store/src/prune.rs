//! Pruning: which payloads were removed, and which never may be.
//!
//! A batch that prunes names the events in [`Batch::prune`](weaver_types::ledger::Batch::prune),
//! and appends an event of the kind [`EventKind::Pruned`](weaver_types::EventKind::Pruned) whose
//! payload is a [`Note`] of exactly these. The ledger applies both or neither. What the note does
//! not name is not pruned, what is gone without a note was removed by somebody else.

mod note;
mod rule;

pub(crate) use note::of_batch;
pub use note::{MAX_BY, NOTE_VERSION, Note, NoteError, Reason};
pub use rule::{INTENT_AGE, never};
pub(crate) use rule::{PruneStore, check, named, time_after};
