//! Publishes signed checkpoints outside this machine, and prunes payloads whose retention is over.
//!
//! A `CheckpointPublisher` signs the synced head of the log at intervals and once more at
//! shutdown, and sends the newest checkpoint to every target, with growing pauses after failures.
//! Before it signs, it checks that the log extends every checkpoint signed earlier. Three places
//! record those: the ledger ([`status`]), a file beside the key ([`checkpoint_file`]) and the
//! targets that are files. Tool calls never wait for publishing.

mod backoff;
pub mod checkpoint_file;
mod checkpoint_publisher;
mod deliveries;
mod pruner;
mod publish_failures;
mod receipts;
mod signing;
pub mod status;
mod target;

pub(crate) use checkpoint_publisher::{CheckpointPublisher, PublisherSettings, PublisherTask};
pub(crate) use pruner::prune;
pub(crate) use publish_failures::PublishFailures;
pub(crate) use receipts::{LogPosition, ReceiptClient};
