//! What a ledger must outlive, as code: process death at any call, power loss, failing and short
//! writes, damaged files.
//!
//! [`run`] starts the program `append` under the preloaded shim of this package. The shim writes a
//! [`trace`] of the file calls. [`image`] turns each moment of a trace into what may be left on the
//! disk after a power cut. [`story`] is what `append` writes; it knows what the store must hold
//! after any number of events, and [`story::check`] holds a real [`SqliteLedger`] to it.
//!
//! [`SqliteLedger`]: weaver_trace_store::SqliteLedger

pub mod image;
pub mod question;
pub mod run;
pub mod story;
pub mod trace;
