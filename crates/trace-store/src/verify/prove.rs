//! Proofs about a log.

use weaver_types::ledger::LedgerError;

use super::LogSource;
use crate::merkle::Hash;

/// A log that provides roots and proofs for every size it ever had, at logarithmic cost.
/// [`verify_inclusion`](crate::merkle::verify_inclusion) and
/// [`verify_consistency`](crate::merkle::verify_consistency) check them without any access to the
/// store.
pub trait LogProver: LogSource {
    /// The root over the first `size` events.
    ///
    /// # Errors
    /// [`LedgerError::Malformed`] when there are fewer, other errors when the store cannot be read.
    fn root(&self, size: u64) -> Result<Hash, LedgerError>;

    /// The proof that event `index` is in the log of `size` events, from the leaf upwards.
    ///
    /// # Errors
    /// As [`LogProver::root`].
    fn inclusion(&self, index: u64, size: u64) -> Result<Vec<Hash>, LedgerError>;

    /// The proof that the log of `old` events is a prefix of the log of `new` events. There is none
    /// for the empty log, which is a prefix of every log.
    ///
    /// # Errors
    /// As [`LogProver::root`].
    fn consistency(&self, old: u64, new: u64) -> Result<Vec<Hash>, LedgerError>;
}

/// The error for a root over more events than the log has.
pub(crate) fn no_such_size(size: u64) -> LedgerError {
    LedgerError::Malformed(format!(
        "the log has fewer than {size} events: ask for a size that it had"
    ))
}

/// The error for a proof that cannot exist.
pub(crate) fn no_such_proof(of: u64, size: u64) -> LedgerError {
    LedgerError::Malformed(format!(
        "there is no proof of {of} in a log of {size} events: ask for what the log holds"
    ))
}
