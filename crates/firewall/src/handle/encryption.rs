//! Encryption of stored results (XChaCha20-Poly1305).

use std::fmt;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use weaver_types::{HandleId, Random, Tenant};
use zeroize::Zeroizing;

use super::record::RECORD_VERSION;
use crate::error::HandleError;

/// Bytes of a key.
const KEY_BYTES: usize = 32;
/// Bytes of a nonce.
const NONCE_BYTES: usize = 24;

/// The key that encrypts results before they are stored. It belongs to the host and is never
/// written anywhere; without it, the stored results cannot be read.
#[derive(Clone)]
pub struct HandleEncryptionKey(Zeroizing<[u8; KEY_BYTES]>);

impl HandleEncryptionKey {
    /// A key of 32 bytes, which must be random.
    #[must_use]
    pub fn new(key: [u8; KEY_BYTES]) -> Self {
        Self(Zeroizing::new(key))
    }

    /// Encrypts bytes under a fresh random nonce, which precedes the output. The associated data
    /// binds them to tenant, handle and record version. A nonce of 192 bits is
    /// long enough to be drawn at random for every result.
    pub(super) fn seal(
        &self,
        bytes: &[u8],
        tenant: &Tenant,
        id: &HandleId,
        random: &dyn Random,
    ) -> Result<Vec<u8>, HandleError> {
        let mut nonce = [0; NONCE_BYTES];
        random.fill(&mut nonce)?;
        let (aad, unsealed) = (associated_data(tenant, id), |_| encryption_error());
        let cipher = self.cipher()?;
        let payload = Payload { msg: bytes, aad: &aad };
        let sealed = cipher.encrypt(&XNonce::from(nonce), payload).map_err(unsealed)?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// Decrypts bytes; `None` unless they were sealed under this key for this handle.
    pub(super) fn open(&self, sealed: &[u8], tenant: &Tenant, id: &HandleId) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let aad = associated_data(tenant, id);
        let payload = Payload { msg: sealed, aad: &aad };
        self.cipher().ok()?.decrypt(&XNonce::from(*nonce), payload).ok()
    }

    fn cipher(&self) -> Result<XChaCha20Poly1305, HandleError> {
        XChaCha20Poly1305::new_from_slice(self.0.as_slice()).map_err(|_| encryption_error())
    }
}

impl fmt::Debug for HandleEncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandleEncryptionKey(..)")
    }
}

fn encryption_error() -> HandleError {
    HandleError::Unstorable { detail: "it cannot be encrypted".to_owned() }
}

/// The associated data. Each part is preceded by its length, so that no two combinations of parts
/// are equal.
fn associated_data(tenant: &Tenant, id: &HandleId) -> Vec<u8> {
    let version = RECORD_VERSION.to_be_bytes();
    let parts: [&[u8]; 4] =
        [b"weaver/handle-content", tenant.as_str().as_bytes(), id.as_str().as_bytes(), &version];
    let mut out = Vec::new();
    for part in parts {
        out.extend(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        out.extend(part);
    }
    out
}
