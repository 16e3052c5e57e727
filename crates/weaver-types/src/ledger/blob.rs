//! The blob port: large bytes, named by a keyed digest of their content.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::LedgerError;
use crate::digest::Digest;

/// The largest blob, in bytes.
pub const MAX_BLOB: usize = 64 * 1024 * 1024;

/// The name of a blob: a digest of its content under the store's own key, so that nobody without
/// the key can confirm a guess at the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlobId(pub Digest);

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where large bytes lie. A blob is written before the batch that names it, see
/// [`BlobUse`](super::BlobUse).
pub trait BlobStore: Send + Sync {
    /// Stores bytes and names them. The same bytes have the same name.
    ///
    /// # Errors
    /// [`LedgerError`], when they are larger than [`MAX_BLOB`] or cannot be written.
    fn put(&self, bytes: &[u8]) -> Result<BlobId, LedgerError>;

    /// Reads bytes; `None` when there are none of that name.
    ///
    /// # Errors
    /// [`LedgerError`], when they cannot be read or are not what was written.
    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, LedgerError>;

    /// Removes bytes; removing what is not there is no error.
    ///
    /// # Errors
    /// [`LedgerError`], when they cannot be removed.
    fn remove(&self, id: &BlobId) -> Result<(), LedgerError>;
}
