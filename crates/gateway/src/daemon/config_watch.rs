//! Watches the configuration of a running daemon, which ends once a changed one can take its place.
//!
//! A configuration that cannot be used changes nothing: the next daemon would not start, and the
//! clients of this one would lose their gateway. So what can fail is tried before anybody is
//! disconnected. A store that cannot be opened is not among it, since this daemon holds it.

use std::net::{SocketAddr, TcpListener};

use weaver_types::{Clock as _, SystemClock};

use super::connection::Daemon;
use super::error::DaemonError;
use super::fingerprint::ConfigFingerprint;
use crate::config::{self, Config, HttpSettings, SignatureChecks, WordVectorSource};
use crate::http::TlsReloader;
use crate::serve::ServeError;

/// Compares the configuration on disk with that of a daemon.
pub(super) struct ConfigWatch {
    /// The address of the command line, which replaces the configured one.
    http_override: Option<SocketAddr>,
    /// A changed configuration that was found to be unusable.
    rejected: Option<ConfigFingerprint>,
}

impl ConfigWatch {
    pub(super) fn new(http_override: Option<SocketAddr>) -> Self {
        Self { http_override, rejected: None }
    }

    /// Whether the configuration has changed and is usable. The log says what changed, and once
    /// for each change why it cannot be used.
    pub(super) fn has_usable_change(&mut self, daemon: &Daemon) -> bool {
        let fingerprint = ConfigFingerprint::from_config(daemon.server.config());
        if fingerprint == daemon.config || self.rejected.as_ref() == Some(&fingerprint) {
            return false;
        }
        let difference = daemon.config.describe_changes(&fingerprint);
        self.rejected = Some(fingerprint);
        let is_usable = self.is_usable(daemon);
        if is_usable {
            tracing::warn!("the configuration was changed, the daemon restarts: {difference}");
        }
        is_usable
    }

    /// Whether the configuration on disk is usable; the log says why not.
    pub(super) fn is_usable(&self, daemon: &Daemon) -> bool {
        let checked = self.check(daemon);
        if let Err(problem) = &checked {
            tracing::error!(
                "the changed configuration cannot be used, the old one stays in force: {problem}"
            );
        }
        checked.is_ok()
    }

    fn check(&self, daemon: &Daemon) -> Result<(), DaemonError> {
        let config = config::load(&daemon.server.config().file).map_err(ServeError::from)?;
        check_documents(&config, SignatureChecks::unless(daemon.unsigned_development))?;
        config
            .word_table
            .as_ref()
            .map(WordVectorSource::load)
            .transpose()
            .map_err(ServeError::from)?;
        match &config.http {
            Some(settings) => self.check_http(settings, daemon.http.get().copied()),
            None => Ok(()),
        }
    }

    /// Checks that the configured address is free, unless this daemon listens at its port, and that
    /// the certificate can be read.
    fn check_http(
        &self,
        settings: &HttpSettings,
        own_address: Option<SocketAddr>,
    ) -> Result<(), DaemonError> {
        let failed = |problem: String| DaemonError::Listen { address: settings.listen, problem };
        let has_port = |own: SocketAddr| own.port() == settings.listen.port();
        if self.http_override.is_none() && !own_address.is_some_and(has_port) {
            TcpListener::bind(settings.listen).map_err(|error| failed(error.to_string()))?;
        }
        let tls = settings.tls.clone().map(TlsReloader::open).transpose();
        tls.map(drop).map_err(|error| failed(error.to_string()))
    }
}

/// Checks that the documents are signed, and that they know the principal of the gateway.
fn check_documents(config: &Config, checks: SignatureChecks) -> Result<(), ServeError> {
    let policy = config::load_policy(config, checks, SystemClock::default().now())?;
    match policy.principal(&config.principal) {
        Some(_) => Ok(()),
        None => Err(ServeError::Principal { id: config.principal.clone() }),
    }
}
