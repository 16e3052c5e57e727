//! Signing a new version of the policy that is in force: the end of `weaver allow` and
//! `weaver policy edit`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use weaver_gateway::secret::{KeyFile, Passphrase};
use weaver_gateway::setup::PolicyRevision;
use weaver_types::Timestamp;

use crate::output::OutputFormat;
use crate::shared_args::PassphraseFrom;
use crate::{Exit, Failure, output};

/// Options for signing a new policy.
#[derive(Debug, Args)]
pub(crate) struct SigningArgs {
    /// The root key, if not where `weaver init` put it
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Sign without a question
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseFrom,
}

impl SigningArgs {
    /// Signs the text, under a version above the one in force, and puts it into force.
    pub(crate) fn sign(
        &self,
        revision: &PolicyRevision,
        text: &str,
        now: Timestamp,
    ) -> Result<u64, Failure> {
        let text = revision.raised(text, now)?;
        let version = revision.draft(&text, now)?.policy().version;
        let key = self.key.clone().unwrap_or_else(|| revision.root_key());
        let key_file = KeyFile::read(&key).map_err(|error| with_key_hint(&key, error.into()))?;
        let passphrase = match self.passphrase.passphrase_fd {
            Some(fd) => Passphrase::from_descriptor(fd)?,
            None => Passphrase::ask(&format!("Passphrase of {}: ", key.display()))?,
        };
        revision.apply(&text, &key_file.open(&passphrase)?, now)?;
        Ok(version)
    }
}

/// Says how the root key is named, beside why it could not be read.
pub(crate) fn with_key_hint(key: &Path, failure: Failure) -> Failure {
    failure.next(format!("name the root key with `--key FILE` if it is not {}", key.display()))
}

/// Says that a version is in force.
pub(crate) fn report(
    revision: &PolicyRevision,
    version: u64,
    format: OutputFormat,
) -> Result<Exit, Failure> {
    let file = revision.config().folder.join("policy.toml");
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
