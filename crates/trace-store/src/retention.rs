//! Retention: which payloads are old enough to be pruned, and a sweep that prunes them in bounded
//! steps.
//!
//! A [`Retention`] is a value: rules, a minimum age, and event kinds that are kept longer or
//! forever. A [`RetentionSweep`] walks the log once, continuing where an earlier one stopped, and
//! makes [`SweepStep`]s. Each step is committed as a batch of its own, so stopping or crashing
//! between two of them loses nothing. A step that is not committed changes nothing, which is a dry
//! run.
//!
//! Retention covers the payloads of events. Records expire on their own, and blobs are deleted when
//! no record refers to them. Copies outside of the ledger, such as backups and exports, are not
//! reached.

mod error;
mod position;
mod pruned_runs;
mod rule;
mod sweep;
mod tally;

pub use error::RetentionError;
pub use rule::{MIN_AGE, MinimumRetention, Retention, RetentionRule};
pub use sweep::{RetentionSweep, SweepStep};
pub use tally::SweepTally;
