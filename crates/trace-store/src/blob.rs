//! The in-memory blob store, and how blobs are named.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::ledger::{BlobId, BlobStore, LedgerError, MAX_BLOB};
use weaver_types::{Random, RandomError};
use zeroize::Zeroizing;

/// Bytes of the key under which a store names its blobs.
pub const BLOB_KEY_BYTES: usize = 32;

/// The key under which a store names its blobs: HMAC-SHA256 over the domain tag, a zero byte and
/// the content. Without the key nobody can confirm a guess about the content.
pub(crate) struct BlobKey(Zeroizing<[u8; BLOB_KEY_BYTES]>);

impl BlobKey {
    pub(crate) fn new(key: [u8; BLOB_KEY_BYTES]) -> Self {
        Self(Zeroizing::new(key))
    }

    pub(crate) fn blob_id(&self, bytes: &[u8]) -> Result<BlobId, LedgerError> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_slice())
            .map_err(|error| LedgerError::Failed(format!("the key of the blob store: {error}")))?;
        mac.update(&DomainTag::BLOB.prefix());
        mac.update(bytes);
        Ok(BlobId(Digest::from_bytes(mac.finalize().into_bytes().into())))
    }

    /// Returns the bytes if they match the name under which they were requested.
    pub(crate) fn verify(&self, id: &BlobId, bytes: Vec<u8>) -> Result<Vec<u8>, LedgerError> {
        if self.blob_id(&bytes)? == *id {
            Ok(bytes)
        } else {
            Err(LedgerError::Damaged(format!("blob {id} is not what was written")))
        }
    }
}

pub(crate) fn check_size(bytes: &[u8]) -> Result<(), LedgerError> {
    if bytes.len() > MAX_BLOB {
        let size = bytes.len();
        return Err(LedgerError::Malformed(format!("a blob has {size} bytes, at most {MAX_BLOB}")));
    }
    Ok(())
}

/// A blob store that lives as long as the process.
///
/// ```
/// use weaver_trace_store::MemoryBlobs;
/// use weaver_types::ledger::BlobStore;
///
/// let blobs = MemoryBlobs::new([7; 32]);
/// let id = blobs.put(b"a large result")?;
/// assert_eq!(blobs.get(&id)?.as_deref(), Some(&b"a large result"[..]));
/// # Ok::<(), weaver_types::ledger::LedgerError>(())
/// ```
pub struct MemoryBlobs {
    key: BlobKey,
    blobs: Mutex<BTreeMap<BlobId, Vec<u8>>>,
}

weaver_types::opaque_debug!(MemoryBlobs);

impl MemoryBlobs {
    /// An empty store that names its blobs under a random key.
    ///
    /// # Errors
    /// [`RandomError`], when the source of randomness fails.
    pub fn with_random_key(random: &dyn Random) -> Result<Self, RandomError> {
        let mut key = [0; BLOB_KEY_BYTES];
        random.fill(&mut key)?;
        Ok(Self::new(key))
    }

    /// An empty store that names its blobs under `key`.
    #[must_use]
    pub fn new(key: [u8; BLOB_KEY_BYTES]) -> Self {
        Self { key: BlobKey::new(key), blobs: Mutex::default() }
    }

    fn lock(&self) -> Result<MutexGuard<'_, BTreeMap<BlobId, Vec<u8>>>, LedgerError> {
        self.blobs
            .lock()
            .map_err(|_| LedgerError::Failed("a thread died while it wrote".to_owned()))
    }
}

impl BlobStore for MemoryBlobs {
    fn put(&self, bytes: &[u8]) -> Result<BlobId, LedgerError> {
        check_size(bytes)?;
        let id = self.key.blob_id(bytes)?;
        self.lock()?.entry(id).or_insert_with(|| bytes.to_vec());
        Ok(id)
    }

    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, LedgerError> {
        let bytes = self.lock()?.get(id).cloned();
        bytes.map(|bytes| self.key.verify(id, bytes)).transpose()
    }

    fn remove(&self, id: &BlobId) -> Result<(), LedgerError> {
        self.lock()?.remove(id);
        Ok(())
    }
}
