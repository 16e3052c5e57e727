//! TLS for clients over HTTP: a certificate out of files, which are read again when they change.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::bounded_file;
use crate::config::TlsFiles;

/// The largest file, in bytes.
const MAX_FILE: usize = 1024 * 1024;
/// How often it is looked whether a file changed.
const LOOK: Duration = Duration::from_secs(1);

/// Why a certificate cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub(crate) struct TlsError {
    path: PathBuf,
    problem: String,
}

/// Ends TLS with the certificate that the files hold now.
pub(crate) struct Tls {
    files: TlsFiles,
    state: Mutex<State>,
}

struct State {
    config: Arc<ServerConfig>,
    /// The files as they were read last, whether they could be used or not.
    stamps: [Option<Stamp>; 2],
    looked: Instant,
}

/// What tells one content of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let about = std::fs::metadata(path).ok()?;
        Some(Self { length: about.len(), modified: about.modified().ok() })
    }
}

impl Tls {
    /// Reads the files.
    pub(crate) fn open(files: TlsFiles) -> Result<Self, TlsError> {
        let stamps = stamps(&files);
        let config = read(&files)?;
        let state = Mutex::new(State { config, stamps, looked: Instant::now() });
        Ok(Self { files, state })
    }

    /// What the next connection is accepted with. Files that changed and cannot be used leave the
    /// certificate in force that was read before.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed() >= LOOK {
            state.looked = Instant::now();
            let now = stamps(&self.files);
            if now != state.stamps {
                state.stamps = now;
                match read(&self.files) {
                    Ok(config) => {
                        tracing::info!("another certificate is in force");
                        state.config = config;
                    }
                    Err(error) => {
                        tracing::error!(%error, "the changed certificate cannot be used, the old one stays");
                    }
                }
            }
        }
        TlsAcceptor::from(Arc::clone(&state.config))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

fn stamps(files: &TlsFiles) -> [Option<Stamp>; 2] {
    [Stamp::of(&files.cert), Stamp::of(&files.key)]
}

fn read(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let failed = |path: &Path, problem: &dyn fmt::Display| TlsError {
        path: path.to_path_buf(),
        problem: problem.to_string(),
    };
    let text = |path: &Path| bounded_file::bytes(path, MAX_FILE).map_err(|e| failed(path, &e));
    let (cert, key) = (text(&files.cert)?, zeroize::Zeroizing::new(text(&files.key)?));
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&cert).collect();
    let chain = chain.map_err(|_| failed(&files.cert, &"it is no certificate in PEM"))?;
    let key = PrivateKeyDer::from_pem_slice(&key)
        .map_err(|_| failed(&files.key, &"it is no private key in PEM, or is encrypted"))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&files.cert, &error))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| failed(&files.cert, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
