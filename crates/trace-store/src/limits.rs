//! The bounds of this crate, beside those of the ledger port.

/// The longest id of a record, in bytes.
pub const MAX_KEY: usize = 512;
/// The largest value of a record, in bytes. What is larger is a blob.
pub const MAX_VALUE: usize = 1024 * 1024;
/// The most guards, counters, writes and removals in one batch, together.
pub const MAX_BATCH_RECORDS: usize = 4096;
/// The most batches that wait for the writer.
pub const MAX_QUEUE: usize = 4096;
/// The most bytes that wait for the writer; one batch always fits.
pub const MAX_QUEUE_BYTES: usize = 256 * 1024 * 1024;
/// Expired records that one commit forgets, beside twice those it writes.
pub(crate) const SWEEP: usize = 64;
