//! Signed checkpoints that leave the machine, and payloads that end.
//!
//! A `CheckpointPublisher` signs the synced head of the log at intervals and at the end, and brings the newest
//! checkpoint to every target, with growing pauses after failures. Before it signs, the log must be
//! shown to extend what was signed before; three places remember that: the record in the ledger
//! ([`status`]), a file beside the key ([`memory`]), and the files that are targets. Calls never
//! wait for it.

mod backoff;
mod checkpoint_publisher;
pub mod memory;
mod pruner;
mod receipts;
mod signing;
pub mod status;
mod target;

pub(crate) use checkpoint_publisher::{CheckpointPublisher, PublisherSettings, PublisherTask};
pub(crate) use pruner::prune;
pub(crate) use receipts::{LogPosition, ReceiptClient};
