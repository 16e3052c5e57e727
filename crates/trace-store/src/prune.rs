//! Pruning: which payloads were removed, and which never may be.
//!
//! A batch that prunes names the events in [`Batch::prune`](weaver_types::ledger::Batch::prune),
//! and appends an event of kind [`EventKind::Pruned`](weaver_types::EventKind::Pruned) whose
//! payload is a [`PruningNote`] of exactly these. The ledger applies both or neither. So a payload
//! that is missing without a note was removed by something other than this ledger.
//!
//! A run that goes on is compared with what its events changed. A
//! [`RetentionSweep`](crate::retention::RetentionSweep) therefore writes a [`RunRestatement`] of
//! what it prunes of such a run, in the same batch.

mod note;
mod restatement;
mod rule;

pub(crate) use note::pruned_by_batch;
pub use note::{
    MAX_PRUNED_BY_CHARS, PRUNING_NOTE_VERSION, PruneReason, PruningNote, PruningNoteError,
};
pub(crate) use restatement::{MAX_RESTATED_CHANGE, size_of_change};
pub use restatement::{RUN_RESTATEMENT_VERSION, RunRestatement};
pub use rule::{INTENT_AGE, is_never_pruned};
pub(crate) use rule::{PruningView, check, protecting_records, time_after};
