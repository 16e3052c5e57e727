//! The blob port: large values, named by a keyed digest of their content.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::LedgerError;
use crate::digest::Digest;

/// The largest blob, in bytes.
pub const MAX_BLOB: usize = 64 * 1024 * 1024;

/// The name of a blob: a digest of its content under the store's own key, so that nobody without
/// the key can confirm a guess about the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlobId(pub Digest);

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Stores large values. A blob is written before the batch that refers to it, see
/// [`BlobReference`](super::BlobReference).
pub trait BlobStore: Send + Sync {
    /// Stores bytes and returns their name. Equal bytes have equal names.
    ///
    /// # Errors
    /// [`LedgerError`], when they are larger than [`MAX_BLOB`] or cannot be written.
    fn put(&self, bytes: &[u8]) -> Result<BlobId, LedgerError>;

    /// Reads a blob; `None` when there is none of that name.
    ///
    /// # Errors
    /// [`LedgerError`], when it cannot be read or does not match its name.
    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, LedgerError>;

    /// Removes a blob; removing a missing one is not an error.
    ///
    /// # Errors
    /// [`LedgerError`], when they cannot be removed.
    fn remove(&self, id: &BlobId) -> Result<(), LedgerError>;
}
