//! Crash tests of the ledger: process death at any call, power loss, failing and short
//! writes, damaged files.
//!
//! [`run`] starts the program `append` under the preloaded shim of this package. The shim writes a
//! [`trace`] of the file calls. [`image`] turns each moment of a trace into what may be left on the
//! disk after a power cut. [`workload`] is what `append` writes, with the state that the store must
//! have after any number of events; [`workload::check_recovery`] compares a real [`SqliteLedger`]
//! with it. [`query`] is everything that can be read from a store.
//!
//! [`SqliteLedger`]: weaver_trace_store::SqliteLedger

pub mod image;
pub mod query;
pub mod run;
pub mod trace;
pub mod workload;
