//! Retention: which payloads are old enough to go, and how they go, a bounded step at a time.
//!
//! A [`Retention`] is a value: rules, a least age, and kinds that are kept longer or for ever. A
//! [`Sweep`] walks the log once under it, from where an earlier one came to, and makes
//! [`Step`]s; each is a batch of its own, so that stopping between two of them, or dying, loses
//! nothing. A step that is not committed changes nothing: that is the dry run.
//!
//! What is covered is the payloads of events. Records end by their own times, blobs when the
//! records that name them do; copies outside of the ledger, backups and exports among them, are
//! not reached.

mod error;
mod position;
mod rule;
mod sweep;
mod tally;

pub use error::RetentionError;
pub use rule::{Keep, LEAST_AGE, Retention, Rule};
pub use sweep::{Step, Sweep};
pub use tally::SweepTally;
