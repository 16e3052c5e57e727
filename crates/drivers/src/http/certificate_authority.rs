//! Certificate authorities trusted in addition to the platform's.

use std::fmt;

use reqwest::Certificate;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use sha2::{Digest as _, Sha256};
use weaver_types::hex;

use super::OperationError;
use super::client_error::ClientError;

/// The most certificates of one authority.
const MAX_CERTIFICATES: usize = 64;

/// A certificate authority trusted in addition to the platform's, for servers whose certificates
/// only their own organisation issues.
#[derive(Clone, PartialEq, Eq)]
pub struct CertificateAuthority(Vec<Vec<u8>>);

impl CertificateAuthority {
    /// Reads one to 64 root certificates in PEM.
    ///
    /// # Errors
    /// [`OperationError::CertificateAuthority`].
    pub fn from_pem(pem: &[u8]) -> Result<Self, OperationError> {
        let refused = |why| OperationError::CertificateAuthority { why };
        let mut read = Vec::new();
        for one in CertificateDer::pem_slice_iter(pem) {
            let one = one.map_err(|_| refused("it is not PEM"))?;
            let root = RootCertStore::empty().add(one.clone());
            root.map_err(|_| refused("a certificate in it cannot be read"))?;
            read.push(one.to_vec());
        }
        match read.len() {
            0 => Err(refused("it holds no certificate")),
            1..=MAX_CERTIFICATES => Ok(Self(read)),
            _ => Err(refused("it holds more than 64 certificates")),
        }
    }

    /// The SHA-256 of each certificate in hexadecimal, in the order of the file.
    #[must_use]
    pub fn digests(&self) -> Vec<String> {
        self.0.iter().map(|one| hex(&Sha256::digest(one))).collect()
    }

    pub(super) fn certificates(&self) -> Result<Vec<Certificate>, ClientError> {
        let read = self.0.iter().map(|one| Certificate::from_der(one));
        read.collect::<Result<_, _>>().map_err(|_| ClientError::CertificateAuthority)
    }
}

impl fmt::Debug for CertificateAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Authority").field(&self.digests()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_certificates_are_an_authority() {
        let code = |text: &str| CertificateAuthority::from_pem(text.as_bytes()).unwrap_err().code();
        let block = |body: &str| {
            format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
        };
        for text in
            ["", "no certificate", &block("AAAA"), &block("?"), "-----BEGIN CERTIFICATE-----\n"]
        {
            assert_eq!(code(text), "http.authority", "{text}");
        }
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert_eq!(code(key), "http.authority", "a key is none");
    }
}
