//! Watches the configuration of a running daemon, which ends once a changed one can take its place.
//!
//! A configuration that cannot be used changes nothing: the next daemon would not start, and the
//! clients of this one would lose their gateway. So what can fail is tried before anybody is
//! disconnected. A store that cannot be opened is not among it, since this daemon holds it.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use weaver_types::{Clock as _, SystemClock};

use super::connection::Daemon;
use super::error::DaemonError;
use super::fingerprint::ConfigFingerprint;
use crate::config::{HttpSettings, SignatureChecks, WordVectorSource};
use crate::serve::ServeError;
use crate::start_check;

/// How often a changed configuration that was found to be unusable is checked again: the documents,
/// an address or a certificate may fit it by then.
const RECHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Compares the configuration on disk with that of a daemon.
#[derive(Default)]
pub(super) struct ConfigWatch {
    rejected: Option<RejectedConfig>,
}

/// A changed configuration that was found to be unusable.
struct RejectedConfig {
    fingerprint: ConfigFingerprint,
    problem: String,
    checked: Instant,
}

impl ConfigWatch {
    /// Whether the configuration has changed and is usable. The log says what changed, and once
    /// for each problem why it cannot be used.
    pub(super) fn has_usable_change(&mut self, daemon: &Daemon) -> bool {
        let fingerprint = ConfigFingerprint::from_config(daemon.server.config());
        if fingerprint == daemon.config {
            self.rejected = None;
            daemon.server.note_refused_configuration(None);
            return false;
        }
        let rejected = self.rejected.take_if(|rejected| rejected.fingerprint == fingerprint);
        if rejected.as_ref().is_some_and(|rejected| rejected.checked.elapsed() < RECHECK_INTERVAL) {
            self.rejected = rejected;
            return false;
        }
        match check(daemon) {
            Ok(()) => {
                log_change(daemon, &fingerprint);
                true
            }
            Err(error) => {
                let problem = error.to_string();
                daemon.server.note_refused_configuration(Some(problem.clone()));
                if rejected.is_none_or(|rejected| rejected.problem != problem) {
                    log_problem(&problem);
                }
                self.rejected =
                    Some(RejectedConfig { fingerprint, problem, checked: Instant::now() });
                false
            }
        }
    }
}

/// Whether the configuration on disk is usable; the log says why not.
pub(super) fn is_usable(daemon: &Daemon) -> bool {
    let checked = check(daemon);
    if let Err(problem) = &checked {
        log_problem(&problem.to_string());
    }
    checked.is_ok()
}

/// Logs what another configuration changes, for which the daemon restarts.
pub(super) fn log_change(daemon: &Daemon, fingerprint: &ConfigFingerprint) {
    let difference = daemon.config.describe_changes(fingerprint);
    tracing::warn!("the configuration was changed, the daemon restarts: {difference}");
}

fn log_problem(problem: &str) {
    tracing::error!(
        "the changed configuration cannot be used, the old one stays in force: {problem}"
    );
}

/// Checks that a daemon could start with the configuration on disk. What costs most comes last.
pub(super) fn check(daemon: &Daemon) -> Result<(), DaemonError> {
    let signatures = SignatureChecks::unless(daemon.unsigned_development);
    let file = &daemon.server.config().file;
    let (config, policy) = start_check::check(file, signatures, SystemClock::default().now())
        .map_err(ServeError::from)?;
    if let Some(link) = config.new_link(daemon.server.config()) {
        return Err(DaemonError::NewLink { path: link.to_path_buf() });
    }
    if policy.principal(&config.principal).is_none() {
        return Err(ServeError::Principal { id: config.principal.clone() }.into());
    }
    if let Some(settings) = &config.http {
        check_address(settings, daemon)?;
    }
    let word_table = config.word_table.as_ref().map(WordVectorSource::load).transpose();
    word_table.map(drop).map_err(|error| ServeError::from(error).into())
}

/// Checks that the configured address is free, unless this daemon listens at its port or the
/// command line names another.
fn check_address(settings: &HttpSettings, daemon: &Daemon) -> Result<(), DaemonError> {
    let has_port = |own: &SocketAddr| own.port() == settings.listen.port();
    if daemon.http_override.is_none() && !daemon.http.get().is_some_and(has_port) {
        TcpListener::bind(settings.listen).map_err(|error| DaemonError::Listen {
            address: settings.listen,
            problem: error.to_string(),
        })?;
    }
    Ok(())
}
