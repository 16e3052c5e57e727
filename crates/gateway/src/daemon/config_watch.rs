//! Watches the configuration of a running daemon. One that differs in its servers only comes into
//! force at once; for any other the daemon ends, and the next one takes its place.
//!
//! A configuration that cannot be used changes nothing: the next daemon would not start, and the
//! clients of this one would lose their gateway. So what can fail is tried before anybody is
//! disconnected. A store that cannot be opened is not among it, since this daemon holds it.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use weaver_types::{Clock as _, SystemClock};

use super::connection::Daemon;
use super::error::DaemonError;
use super::fingerprint::ConfigFingerprint;
use crate::config::{Config, HttpSettings, SignatureChecks, WordVectorSource};
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

/// What became of the configuration on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigState {
    /// It is in force, or is not complete yet.
    Settled,
    /// It needs another gateway.
    NeedsRestart,
}

impl ConfigWatch {
    /// Whether the daemon has to end for a changed and usable configuration; one that differs in its
    /// servers only is put into force. The log says what changed, and once for each problem why it
    /// cannot be used.
    pub(super) async fn needs_restart(&mut self, daemon: &Daemon) -> bool {
        let fingerprint = ConfigFingerprint::from_config(&daemon.server.config());
        if fingerprint == daemon.fingerprint() {
            self.rejected = None;
            daemon.server.note_refused_configuration(None);
            return false;
        }
        let rejected = self.rejected.take_if(|rejected| rejected.fingerprint == fingerprint);
        if rejected.as_ref().is_some_and(|rejected| rejected.checked.elapsed() < RECHECK_INTERVAL) {
            self.rejected = rejected;
            return false;
        }
        match follow(daemon).await {
            Ok(state) => state == ConfigState::NeedsRestart,
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

/// Puts the configuration on disk into force if it is usable and differs in its servers only. One
/// client at a time does so.
///
/// # Errors
/// [`DaemonError`], if it cannot be used.
pub(super) async fn follow(daemon: &Daemon) -> Result<ConfigState, DaemonError> {
    let _one_at_a_time = daemon.config_change.lock().await;
    let (in_force, before) = (daemon.server.config(), daemon.fingerprint());
    let read = ConfigFingerprint::from_config(&in_force);
    if read == before {
        return Ok(ConfigState::Settled);
    }
    let config = check(daemon)?;
    let fingerprint = ConfigFingerprint::from_config(&config);
    if !fingerprint.agrees_with(&read) {
        // Somebody is writing.
        return Ok(ConfigState::Settled);
    }
    let difference = before.describe_changes(&fingerprint);
    let has_settings = |path: &PathBuf| {
        [&*in_force, &config].iter().any(|one| {
            let others = one.servers_file.iter().chain(&one.environment_file);
            *path == one.file || others.into_iter().any(|file| file == path)
        })
    };
    let is_applied = before.changed_files(&fingerprint).all(has_settings)
        && Box::pin(daemon.server.replace_servers(config)).await;
    if !is_applied {
        tracing::warn!("the configuration was changed, the daemon restarts: {difference}");
        return Ok(ConfigState::NeedsRestart);
    }
    tracing::warn!("the configuration was changed, and is in force: {difference}");
    daemon.set_fingerprint(fingerprint);
    daemon.server.note_refused_configuration(None);
    Ok(ConfigState::Settled)
}

fn log_problem(problem: &str) {
    tracing::error!(
        "the changed configuration cannot be used, the old one stays in force: {problem}"
    );
}

/// The configuration on disk, if a daemon could start with it. What costs most comes last.
pub(super) fn check(daemon: &Daemon) -> Result<Config, DaemonError> {
    let signatures = SignatureChecks::unless(daemon.unsigned_development);
    let in_force = daemon.server.config();
    let (config, policy) =
        start_check::check(&in_force.file, signatures, SystemClock::default().now())
            .map_err(ServeError::from)?;
    if let Some(link) = config.new_link(&in_force) {
        return Err(DaemonError::NewLink { path: link.to_path_buf() });
    }
    if policy.principal(&config.principal).is_none() {
        return Err(ServeError::Principal { id: config.principal.clone() }.into());
    }
    if let Some(settings) = &config.http {
        check_address(settings, daemon)?;
    }
    let word_table = config.word_table.as_ref().map(WordVectorSource::load).transpose();
    word_table.map_err(ServeError::from)?;
    Ok(config)
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
