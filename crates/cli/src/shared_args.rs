//! Arguments that several commands share.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::de::DeserializeOwned;
use serde_json::Value;
use weaver_gateway::config::DEFAULT_FILE_NAME;
use weaver_gateway::secret::{KeyFile, Passphrase, SecretError};
use weaver_types::signature::SigningKey;

use crate::argument_error::ArgumentError;
use crate::output::OutputFormat;
use crate::{Failure, config_path};

/// How often a passphrase is asked for on the terminal.
const MAX_TRIES: usize = 3;

/// Parses a keyword as documents write it.
pub(crate) fn parse_keyword<T: DeserializeOwned>(text: &str) -> Result<T, ArgumentError> {
    serde_json::from_value(Value::String(text.to_owned())).map_err(ArgumentError::malformed)
}

#[derive(Debug, Args)]
pub(crate) struct JsonFlag {
    /// Print JSON for scripts
    #[arg(long)]
    pub(crate) json: bool,
}

impl JsonFlag {
    /// The output format that the flag selects.
    pub(crate) fn format(&self) -> OutputFormat {
        OutputFormat::from_flag(self.json)
    }
}

#[derive(Debug, Args)]
pub(crate) struct PassphraseArgs {
    /// Read the passphrase from this file descriptor
    #[arg(long, value_name = "N")]
    pub(crate) passphrase_fd: Option<u32>,
}

impl PassphraseArgs {
    /// Decrypts the key file that was read from `path`.
    pub(crate) fn unlock(&self, path: &Path, file: &KeyFile) -> Result<SigningKey, Failure> {
        let opened = match self.passphrase_fd {
            Some(fd) => file.open(&Passphrase::from_descriptor(fd)?),
            None => open_asking(file, path, Passphrase::ask),
        };
        Ok(opened?)
    }
}

/// Opens a key file with a passphrase that `ask` gets with a prompt. After a wrong one it asks again.
fn open_asking(
    file: &KeyFile,
    path: &Path,
    ask: impl Fn(&str) -> Result<Passphrase, SecretError>,
) -> Result<SigningKey, SecretError> {
    let mut opened = file.open(&ask(&format!("Passphrase of {}: ", path.display()))?);
    for _ in 1..MAX_TRIES {
        if !matches!(opened, Err(SecretError::WrongPassphrase)) {
            break;
        }
        opened = file.open(&ask("That is not it. Once more: ")?);
    }
    opened
}

/// The configuration that a command reads.
#[derive(Debug, Args)]
pub(crate) struct ConfigArg {
    /// The configuration; the default is the nearest weaver.toml, or your own
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ConfigArg {
    /// The option with this file.
    pub(crate) fn of(file: &Path) -> Self {
        Self { config: Some(file.to_owned()) }
    }

    /// The named file, or the default one. Where there is none, it is `weaver.toml`, so that
    /// reading it fails.
    pub(crate) fn path(&self) -> PathBuf {
        let found = self.config.clone().or_else(config_path::find_default);
        found.unwrap_or_else(|| PathBuf::from(DEFAULT_FILE_NAME))
    }

    /// The named file, or the default one, which must exist.
    pub(crate) fn resolve(&self) -> Result<PathBuf, Failure> {
        config_path::resolve(self.config.as_deref())
    }
}

/// The ledger that a command reads.
#[derive(Debug, Args)]
pub(crate) struct LedgerArg {
    /// The ledger, or the weaver.toml that names it; without the option, the nearest, or your own
    #[arg(long, alias = "config", value_name = "FILE", default_value = "", hide_default_value = true,
        value_parser = config_path::parse_store_argument)]
    pub(crate) store: PathBuf,
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use weaver_gateway::secret::KdfCosts;
    use weaver_types::{KeyId, OsRandom};

    use super::*;

    #[test]
    fn a_wrong_passphrase_is_asked_for_three_times_at_most() {
        let passphrase = |text: &str| Passphrase::new(text.to_owned().into());
        let right = passphrase("eight888").unwrap();
        let id = KeyId::parse("alice").unwrap();
        let (file, _) = KeyFile::generate_at(KdfCosts::LOWEST, id, &right, &OsRandom).unwrap();
        let opened = |answers: &[&str]| {
            let asked = Cell::new(0);
            let ask = |_: &str| {
                let answer = answers.get(asked.replace(asked.get() + 1));
                passphrase(answer.expect("no more is asked for"))
            };
            (open_asking(&file, Path::new("alice.key"), ask), asked.get())
        };
        for (answers, is_opened) in [
            (&["eight888"][..], true),
            (&["wrong", "eight888"], true),
            (&["wrong", "false", "eight888"], true),
            (&["wrong", "false", "other"], false),
            (&[""], false),
        ] {
            let (key, asked) = opened(answers);
            assert_eq!((key.is_ok(), asked), (is_opened, answers.len()), "{answers:?}");
        }
    }
}
