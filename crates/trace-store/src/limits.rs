//! Limits of this crate, in addition to those of the ledger port.

/// The longest id of a record, in bytes.
pub const MAX_KEY: usize = 512;
/// The largest value of a record, in bytes. Larger values are stored as blobs.
pub const MAX_VALUE: usize = 1024 * 1024;
/// The most guards, counters, writes and removals in one batch, together.
pub const MAX_BATCH_RECORDS: usize = 4096;
/// The most batches that may wait for the writer.
pub const MAX_QUEUE: usize = 4096;
/// The most bytes that may wait for the writer; a single batch always fits.
pub const MAX_QUEUE_BYTES: usize = 256 * 1024 * 1024;
/// Expired records that one commit deletes, in addition to two for each record it writes.
pub(crate) const SWEEP_PER_COMMIT: usize = 64;
