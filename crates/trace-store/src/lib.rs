//! The ledger: an append-only log with Merkle proofs, and the records that change together with it.
//!
//! [`MemoryLedger`] and, with the feature `sqlite`, `SqliteLedger` implement the port
//! [`Ledger`](weaver_types::ledger::Ledger): a [`Batch`](weaver_types::ledger::Batch) of guards,
//! counters, records and events is applied atomically. The log is a Merkle tree by RFC 9162. The
//! leaf of an event is its canonical [header](entry::EventHeader), which commits to the payload
//! with a fresh salt. [`verify::verify`] detects any change and, given an earlier head, also
//! truncation and rewriting.
//!
//! [`query`], [`project`] and [`export`] answer questions from the events; `index` speeds up the
//! search.
//!
//! Deliberately out of scope: this crate does not interpret events or records, except for [what
//! must not be pruned](prune), and makes no decisions. It holds no private key: a [signed
//! checkpoint](checkpoint) is made by whoever has one, and becomes evidence when it is stored
//! elsewhere. No other crate uses SQL.
//!
//! ```
//! use std::sync::Arc;
//! use weaver_trace_store::{MemoryLedger, verify};
//! use weaver_types::ledger::{Batch, Durability, Ledger, NewEvent};
//! use weaver_types::{EventKind, LogId, OsRandom, Timestamp};
//!
//! let ledger = MemoryLedger::new(LogId::parse("log_example")?, Arc::new(OsRandom));
//! let event = NewEvent {
//!     kind: EventKind::RunStarted,
//!     at: Timestamp::from_micros(1_700_000_000_000_000),
//!     run: None,
//!     call: None,
//!     payload: br#"{"goal":"tidy up"}"#.to_vec().into(),
//! };
//! let receipt = ledger.commit(Batch::new(Durability::Disk).with_event(event)).wait()?;
//! assert_eq!(receipt.first_seq, Some(0));
//!
//! let report = verify::verify(&ledger, Some(&receipt.head.head()))?;
//! assert_eq!(report.head.size, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Features, none on by default: `sqlite` adds the ledger, the blob store and the reader on SQLite;
//! `conformance` adds the checks that every backend must pass.

mod blob;
pub mod checkpoint;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod entry;
pub mod export;
mod id_map;
#[cfg(feature = "sqlite")]
pub mod index;
mod limits;
mod log;
mod memory;
pub mod merkle;
mod plan;
mod prepare;
pub mod project;
pub mod prune;
pub mod query;
mod record_map;
pub mod retention;
mod salt;
#[cfg(feature = "sqlite")]
mod sqlite;
pub mod verify;

pub use blob::{BLOB_KEY_BYTES, MemoryBlobs};
pub use limits::{MAX_BATCH_RECORDS, MAX_KEY, MAX_QUEUE, MAX_QUEUE_BYTES, MAX_VALUE};
pub use log::{EventRow, EventRowRef};
pub use memory::MemoryLedger;
#[cfg(feature = "sqlite")]
pub use sqlite::{
    APPLICATION_ID, FORMAT_VERSION, OpenOptions, OpenReport, RECORDS_APPLICATION_ID,
    RECORDS_VERSION, Reader, RecordsOptions, SqliteBlobs, SqliteLedger, SqliteRecords,
};

/// The README, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
