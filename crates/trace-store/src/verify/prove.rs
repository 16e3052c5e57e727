//! Proves facts about a log.

use weaver_types::ledger::LedgerError;

use super::Source;
use crate::merkle::Hash;

/// A log that gives roots and proofs for every size it ever had, at a cost that grows with the
/// logarithm of its size. What it gives is checked by
/// [`verify_inclusion`](crate::merkle::verify_inclusion) and
/// [`verify_consistency`](crate::merkle::verify_consistency), which know no store.
pub trait Prove: Source {
    /// The root over the first `size` events.
    ///
    /// # Errors
    /// [`LedgerError::Malformed`] when there are not that many, others when the store cannot be read.
    fn root(&self, size: u64) -> Result<Hash, LedgerError>;

    /// The proof that event `index` is in the log of `size` events, from the leaf upwards.
    ///
    /// # Errors
    /// As [`Prove::root`].
    fn inclusion(&self, index: u64, size: u64) -> Result<Vec<Hash>, LedgerError>;

    /// The proof that the log of `old` events is the beginning of the log of `new` events. Of the
    /// empty log there is none: it is the beginning of every log.
    ///
    /// # Errors
    /// As [`Prove::root`].
    fn consistency(&self, old: u64, new: u64) -> Result<Vec<Hash>, LedgerError>;
}

/// The error for a proof of what is not there.
pub(crate) fn no_such_proof(of: u64, size: u64) -> LedgerError {
    LedgerError::Malformed(format!(
        "there is no proof of {of} in a log of {size} events: ask for what the log holds"
    ))
}
