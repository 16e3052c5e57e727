//! Signs a new version of the policy in force, for `weaver allow` and `weaver policy edit`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use weaver_gateway::secret::KeyFile;
use weaver_gateway::setup::PolicyRevision;
use weaver_types::Timestamp;

use crate::output::OutputFormat;
use crate::shared_args::PassphraseArgs;
use crate::{Exit, Failure, output};

/// Options for signing a new policy.
#[derive(Debug, Args)]
pub(crate) struct SigningArgs {
    /// The root key, if not where `weaver init` put it
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Sign without a confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArgs,
}

impl SigningArgs {
    /// Signs the text as the version after the one in force, and activates it.
    pub(crate) fn sign(
        &self,
        revision: &PolicyRevision,
        text: &str,
        now: Timestamp,
    ) -> Result<u64, Failure> {
        let text = revision.with_raised_version(text, now)?;
        let version = revision.draft(&text, now)?.policy().version;
        let key = self.key.clone().unwrap_or_else(|| revision.root_key());
        let key_file = KeyFile::read(&key).map_err(|error| with_key_hint(&key, error.into()))?;
        revision.apply(&text, &self.passphrase.unlock(&key, &key_file)?, now)?;
        Ok(version)
    }
}

/// Adds to a failure how to name the root key.
pub(crate) fn with_key_hint(key: &Path, failure: Failure) -> Failure {
    failure.with_next_step(format!(
        "name the root key with `--key FILE` if it is not {}",
        key.display()
    ))
}

/// Prints that a version is in force.
pub(crate) fn print_signed(
    revision: &PolicyRevision,
    version: u64,
    format: OutputFormat,
) -> Result<Exit, Failure> {
    let file = revision.config().documents_folder.join("policy.toml");
    let file = file.display().to_string();
    if format == OutputFormat::Json {
        output::json(&json!({ "ok": true, "policy": file, "version": version }))?;
    } else {
        let good = output::good("signed");
        output::text(&format!(
            "{good} {file} as version {version}; a running gateway takes it in by itself\n"
        ))?;
    }
    Ok(Exit::Ok)
}
