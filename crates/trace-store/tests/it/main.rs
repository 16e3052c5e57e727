//! The public behaviour of the ledger. All of it runs with the features `sqlite` and
//! `conformance`.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod checkpoints;
#[cfg(test)]
mod codes;
#[cfg(test)]
#[cfg(all(feature = "sqlite", feature = "conformance"))]
mod conformance;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod crash;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod crosscheck;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod exports;
#[cfg(test)]
mod facts;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod fatal;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod files;
#[cfg(test)]
mod filters;
#[cfg(test)]
mod forms;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod golden;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod golden_proofs;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod group_commit;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod index_file;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod links;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod made_up;
#[cfg(test)]
mod merkle;
#[cfg(test)]
mod numbers;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod orphaned_blobs;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod outage;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod planted;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod pruning;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod questions;
#[cfg(test)]
mod receipts;
#[cfg(test)]
#[cfg(all(feature = "sqlite", feature = "conformance"))]
mod record_file;
#[cfg(test)]
mod reports;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod retention;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod rows;
#[cfg(test)]
mod sentences;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod shared_state;
#[cfg(test)]
mod spans;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(test)]
mod statistics;
#[cfg(test)]
mod stories;
#[cfg(test)]
mod support;
#[cfg(test)]
mod sweeps;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod tampering;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod tiles;
#[cfg(test)]
mod verification;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod weaknesses;
#[cfg(test)]
mod witnesses;
