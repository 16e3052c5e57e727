//! Encryption of what is stored.

use std::fmt;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use weaver_types::{HandleId, Random, Tenant};
use zeroize::Zeroizing;

use super::record::RECORD_VERSION;
use crate::error::HandleError;

/// Bytes of a key.
const KEY: usize = 32;
/// Bytes of a nonce.
const NONCE: usize = 24;

/// The key under which results are encrypted before they are stored. It belongs to the host: it
/// is never written anywhere, and what was stored under it cannot be read without it.
#[derive(Clone)]
pub struct HandleKey(Zeroizing<[u8; KEY]>);

impl HandleKey {
    /// A key of 32 bytes, which must be random.
    #[must_use]
    pub fn new(key: [u8; KEY]) -> Self {
        Self(Zeroizing::new(key))
    }

    /// A fresh nonce and the encrypted bytes (XChaCha20-Poly1305), bound to their tenant, handle
    /// and the version of the record.
    pub(super) fn seal(
        &self,
        bytes: &[u8],
        tenant: &Tenant,
        id: &HandleId,
        random: &dyn Random,
    ) -> Result<Vec<u8>, HandleError> {
        let mut nonce = [0; NONCE];
        random.fill(&mut nonce)?;
        let (aad, unsealed) = (bound_to(tenant, id), |_| failed());
        let cipher = self.cipher()?;
        let payload = Payload { msg: bytes, aad: &aad };
        let sealed = cipher.encrypt(&XNonce::from(nonce), payload).map_err(unsealed)?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// The bytes again; nothing when they are not what was sealed under this key for this handle.
    pub(super) fn open(&self, sealed: &[u8], tenant: &Tenant, id: &HandleId) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>()?;
        let aad = bound_to(tenant, id);
        let payload = Payload { msg: sealed, aad: &aad };
        self.cipher().ok()?.decrypt(&XNonce::from(*nonce), payload).ok()
    }

    fn cipher(&self) -> Result<XChaCha20Poly1305, HandleError> {
        XChaCha20Poly1305::new_from_slice(self.0.as_slice()).map_err(|_| failed())
    }
}

impl fmt::Debug for HandleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandleKey(..)")
    }
}

fn failed() -> HandleError {
    HandleError::Unstorable { detail: "it cannot be encrypted".to_owned() }
}

/// What the encrypted bytes belong to: each part after its length, so that none runs into another.
fn bound_to(tenant: &Tenant, id: &HandleId) -> Vec<u8> {
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
