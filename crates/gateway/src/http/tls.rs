//! TLS for clients over HTTP, with a certificate that is reloaded when its files change.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::bounded_file;
use crate::config::TlsFiles;
use crate::file_stamp::FileStamp;

/// The largest file.
const MAX_FILE_BYTES: usize = 1024 * 1024;
/// How often the files are checked for changes.
const RELOAD_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Why a certificate cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub(crate) struct TlsError {
    path: PathBuf,
    problem: String,
}

/// Terminates TLS with the current certificate files.
pub(crate) struct TlsReloader {
    files: TlsFiles,
    state: Mutex<State>,
}

struct State {
    config: Arc<ServerConfig>,
    /// The files when they were last read, whether they were usable or not.
    stamps: [Option<FileStamp>; 2],
    last_check: Instant,
}

impl TlsReloader {
    /// Reads the files.
    pub(crate) fn open(files: TlsFiles) -> Result<Self, TlsError> {
        let stamps = stamps(&files);
        let config = read_config(&files)?;
        let state = Mutex::new(State { config, stamps, last_check: Instant::now() });
        Ok(Self { files, state })
    }

    /// The acceptor for the next connection. If changed files cannot be used, the previous
    /// certificate stays in force.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last_check.elapsed() >= RELOAD_CHECK_INTERVAL {
            state.last_check = Instant::now();
            let now = stamps(&self.files);
            if now != state.stamps {
                state.stamps = now;
                match read_config(&self.files) {
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

impl fmt::Debug for TlsReloader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

fn stamps(files: &TlsFiles) -> [Option<FileStamp>; 2] {
    [FileStamp::at(&files.cert), FileStamp::at(&files.key)]
}

fn read_config(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let failed = |path: &Path, problem: &dyn fmt::Display| TlsError {
        path: path.to_path_buf(),
        problem: problem.to_string(),
    };
    let text =
        |path: &Path| bounded_file::read_bytes(path, MAX_FILE_BYTES).map_err(|e| failed(path, &e));
    let (cert, key) = (text(&files.cert)?, zeroize::Zeroizing::new(text(&files.key)?));
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&cert).collect();
    let chain = chain.map_err(|_| failed(&files.cert, &"it is not a certificate in PEM"))?;
    let key = PrivateKeyDer::from_pem_slice(&key)
        .map_err(|_| failed(&files.key, &"it is not a private key in PEM, or is encrypted"))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&files.cert, &error))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| failed(&files.cert, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
