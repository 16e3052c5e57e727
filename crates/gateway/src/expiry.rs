//! What ends by itself, and when: documents and their keys, the certificate, the tokens of clients.

use std::path::Path;

use weaver_policy::PolicySet;
use weaver_types::Timestamp;

use crate::bounded_file;
use crate::client_registry::ClientRegistry;
use crate::config::Config;

mod certificate;

/// The largest certificate file.
const MAX_CERTIFICATE_BYTES: usize = 1024 * 1024;

/// What kind of thing ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExpiryKind {
    /// A signed document.
    Document,
    /// The last key of an approver.
    ApproverKey,
    /// The key of a signer of documents.
    SignerKey,
    /// The certificate of `[http]`, with its chain.
    Certificate,
    /// The token of a client over HTTP.
    ClientToken,
}

impl ExpiryKind {
    /// Its name in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::ApproverKey => "approver_key",
            Self::SignerKey => "signer_key",
            Self::Certificate => "certificate",
            Self::ClientToken => "client_token",
        }
    }
}

/// Something that is valid until a time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expiry {
    /// What it is.
    pub kind: ExpiryKind,
    /// The name of the document, person or client; empty for the certificate.
    pub name: String,
    /// When it ends.
    pub at: Timestamp,
}

impl Expiry {
    fn new(kind: ExpiryKind, name: impl Into<String>, at: Timestamp) -> Self {
        Self { kind, name: name.into(), at }
    }
}

/// When the documents and the keys in them end.
#[must_use]
pub fn of_documents(set: &PolicySet) -> Vec<Expiry> {
    let document = |name: &str, at: Option<Timestamp>| {
        at.map(|at| Expiry::new(ExpiryKind::Document, name, at))
    };
    let mut all: Vec<Expiry> = Vec::new();
    all.extend(document("policy", set.policy().expires));
    all.extend(document("contracts", set.contracts().expires));
    let Some(keys) = set.keys() else { return all };
    all.extend(document("keys", keys.expires));
    for (person, approver) in &keys.approvers {
        // An approver needs only one valid key, so the last one to expire counts.
        let ends: Option<Vec<Timestamp>> =
            approver.keys.values().map(|key| key.not_after).collect();
        let last = ends.and_then(|ends| ends.into_iter().max());
        all.extend(last.map(|at| Expiry::new(ExpiryKind::ApproverKey, person, at)));
    }
    for (name, signer) in &keys.signers {
        let end = signer.key.not_after;
        all.extend(end.map(|at| Expiry::new(ExpiryKind::SignerKey, name, at)));
    }
    all
}

/// When the certificate of `[http]`, or one that it depends on, ends. `None` without a certificate,
/// or if it cannot be read, which other checks report.
#[must_use]
pub fn of_certificate(config: &Config) -> Option<Expiry> {
    let tls = config.http.as_ref()?.tls.as_ref()?;
    let at = certificate_end(&tls.cert)?;
    Some(Expiry::new(ExpiryKind::Certificate, "", at))
}

fn certificate_end(file: &Path) -> Option<Timestamp> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;

    let pem = bounded_file::read_bytes(file, MAX_CERTIFICATE_BYTES).ok()?;
    let chain = CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok);
    chain.filter_map(|one| certificate::not_after(&one)).min()
}

/// When the tokens of the clients of this store end. Nothing if the clients cannot be read, which
/// the gateway reports.
#[must_use]
pub fn of_clients(store: &Path) -> Vec<Expiry> {
    let clients = ClientRegistry::of_store(store).all().unwrap_or_default();
    let ends = clients.into_iter().filter_map(|client| {
        Some(Expiry::new(ExpiryKind::ClientToken, client.name, client.expires?))
    });
    ends.collect()
}
