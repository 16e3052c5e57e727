//! Checks what the start of a gateway needs besides a valid configuration and valid documents: the
//! files that both name, and a ledger that accepts the documents.
//!
//! A daemon that cannot start leaves its clients without a gateway, so this is checked before one
//! is replaced, and whenever an operator asks. The ledger itself is only read.

use std::path::Path;

use weaver_policy::PolicySet;
use weaver_trace_store::Reader;
use weaver_types::{Tenant, Timestamp};

use crate::config::{
    self, Config, ConfigErrors, DocumentFinding, SignatureChecks, file_finding, redaction,
};
use crate::secret::KeyFile;

/// Checks a configuration, its documents and what a start needs besides, and reports all problems.
///
/// # Errors
/// [`ConfigErrors`] with all of them.
pub fn check(
    path: impl AsRef<Path>,
    signatures: SignatureChecks,
    now: Timestamp,
) -> Result<(Config, PolicySet), ConfigErrors> {
    let (config, set) = match signatures {
        SignatureChecks::Required => config::check(path, now)?,
        SignatureChecks::Skipped => {
            let config = config::load(path)?;
            let set = config::load_policy(&config, signatures, now)?;
            (config, set)
        }
    };
    match problems(&config, &set) {
        found if found.is_empty() => Ok((config, set)),
        found => Err(ConfigErrors::new(found)),
    }
}

/// Everything that would keep a gateway from starting with these.
#[must_use]
pub fn problems(config: &Config, set: &PolicySet) -> Vec<DocumentFinding> {
    let mut found = reused_versions(config, set);
    found.extend(replaced_config_problem(config));
    found.extend(log_key_problem(config));
    found.extend(certificate_problem(config));
    found.extend(redaction_problem(config));
    found.extend(folder_problems(config));
    found
}

/// A configuration that is not what a command wrote, and was changed while servers could reach it.
fn replaced_config_problem(config: &Config) -> Option<DocumentFinding> {
    if config.is_as_written() {
        return None;
    }
    let message =
        "it is not what the last command wrote: it was changed while servers could reach it";
    let remedy = "look at every line of it; if all of it is yours, save it again";
    Some(file_finding(&config.file.display().to_string(), "config.replaced", message, remedy))
}

/// Documents that the ledger does not accept, because it has accepted newer or other ones. A ledger
/// that cannot be read is another check's.
fn reused_versions(config: &Config, set: &PolicySet) -> Vec<DocumentFinding> {
    if !config.store_path.is_file() {
        return Vec::new();
    }
    let Ok(reader) = Reader::open(&config.store_path) else { return Vec::new() };
    let checked = set.check_high_water(&Tenant::default(), |key| reader.record(key));
    checked.err().map_or_else(Vec::new, |error| error.findings().to_vec())
}

/// The key of the log. Whether its passphrase is right shows when the key is opened: asking for it
/// here could ask a person.
fn log_key_problem(config: &Config) -> Option<DocumentFinding> {
    let signing = config.log.signing.as_ref()?;
    let error = KeyFile::read(&signing.key).err()?;
    let remedy = "make one with `weaver keys new`, or name another as `key` under `[log]`";
    Some(finding(config, "log.key", error.code(), error.to_string(), remedy))
}

fn certificate_problem(config: &Config) -> Option<DocumentFinding> {
    let tls = config.http.as_ref()?.tls.clone()?;
    let error = crate::http::TlsReloader::open(tls).err()?;
    let remedy = "correct `cert` and `key` under `[http]`";
    Some(finding(config, "http.cert", "config.certificate", error.to_string(), remedy))
}

fn redaction_problem(config: &Config) -> Option<DocumentFinding> {
    let error = redaction::firewall(&config.redaction_rules).err()?;
    let remedy = "correct the file, or take it out of `rules` under `[redaction]`";
    Some(finding(config, "redaction.rules", error.code(), error.to_string(), remedy))
}

/// The folders of ledger, inbox and memory that neither exist nor can be created.
fn folder_problems(config: &Config) -> Vec<DocumentFinding> {
    let store = config.store_path.parent().map(|folder| ("store.path", folder));
    let memory = config.memory.as_ref().and_then(|memory| memory.file.parent());
    let memory = memory.map(|folder| ("memory.file", folder));
    let folders = store.into_iter().chain([("store.inbox", config.inbox.as_path())]).chain(memory);
    let found = folders.filter_map(|(key, folder)| {
        let obstacle = obstacle_to(folder)?;
        let message = format!("the folder {} cannot be made: {obstacle}", folder.display());
        let remedy = "make it, or write another path";
        Some(finding(config, key, "serve.folder", message, remedy))
    });
    found.collect()
}

/// Why a folder neither exists nor can be created.
fn obstacle_to(folder: &Path) -> Option<String> {
    let above = folder.ancestors().find(|above| above.exists())?;
    if !above.is_dir() {
        return Some(format!("{} is a file", above.display()));
    }
    #[cfg(unix)]
    if above != folder
        && let Err(error) = rustix::fs::access(above, rustix::fs::Access::WRITE_OK)
    {
        return Some(format!("{}: {}", above.display(), std::io::Error::from(error)));
    }
    None
}

fn finding(
    config: &Config,
    key: &str,
    code: &'static str,
    message: String,
    remedy: &str,
) -> DocumentFinding {
    let file = config.file.display().to_string();
    DocumentFinding { key: Some(key.to_owned()), ..file_finding(&file, code, message, remedy) }
}
