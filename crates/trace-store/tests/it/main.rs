//! The public behaviour of the ledger. All of it runs with the features `sqlite` and
//! `conformance`.

#![cfg(test)]

mod answers;
mod bounds;
mod calls;
mod checkpoints;
mod codes;
#[cfg(all(feature = "sqlite", feature = "conformance"))]
mod conformance;
#[cfg(feature = "sqlite")]
mod crash;
#[cfg(feature = "sqlite")]
mod crosscheck;
mod ends;
mod exports;
mod facts;
#[cfg(feature = "sqlite")]
mod fatal;
#[cfg(feature = "sqlite")]
mod files;
mod filters;
mod forms;
#[cfg(feature = "sqlite")]
mod golden;
#[cfg(feature = "sqlite")]
mod golden_proofs;
#[cfg(feature = "sqlite")]
mod group_commit;
#[cfg(feature = "sqlite")]
mod index_file;
#[cfg(feature = "sqlite")]
mod links;
#[cfg(feature = "sqlite")]
mod made_up;
mod merkle;
mod numbers;
#[cfg(feature = "sqlite")]
mod orphaned_blobs;
#[cfg(feature = "sqlite")]
mod outage;
#[cfg(feature = "sqlite")]
mod planted;
#[cfg(feature = "sqlite")]
mod pruning;
#[cfg(feature = "sqlite")]
mod questions;
mod receipts;
#[cfg(all(feature = "sqlite", feature = "conformance"))]
mod record_file;
mod reports;
#[cfg(feature = "sqlite")]
mod retention;
#[cfg(feature = "sqlite")]
mod rows;
mod sentences;
#[cfg(feature = "sqlite")]
mod shared_state;
mod spans;
#[cfg(feature = "sqlite")]
mod sqlite;
mod statistics;
mod stories;
mod support;
mod sweeps;
#[cfg(feature = "sqlite")]
mod tampering;
#[cfg(feature = "sqlite")]
mod tiles;
mod verification;
#[cfg(feature = "sqlite")]
mod weaknesses;
mod witnesses;
