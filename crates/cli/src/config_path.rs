//! Finds the configuration of a command that names none.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use weaver_gateway::clients::Folders;
use weaver_gateway::config::{self, Config, ConfigErrors, DEFAULT_NAME, NO_CONFIG_REMEDY};

use super::{Exit, Failure};

/// Reads `--config`: without the option, and where no weaver.toml is here, the one that is meant.
#[expect(clippy::unnecessary_wraps, reason = "the form of clap's value parsers")]
pub(crate) fn named(text: &str) -> Result<PathBuf, Infallible> {
    let path = PathBuf::from(text);
    if text == DEFAULT_NAME && !path.is_file() {
        return Ok(look().unwrap_or(path));
    }
    Ok(path)
}

/// Reads `--store`: a ledger, or a configuration whose ledger is meant; without the option, that of
/// the configuration that is meant.
pub(crate) fn store(text: &str) -> Result<PathBuf, StoreError> {
    let named = Path::new(text);
    if named.extension().is_some_and(|extension| extension == "toml") {
        return Ok(configured_store(named)?);
    }
    if !text.is_empty() {
        return Ok(named.to_owned());
    }
    let file = look().ok_or(StoreError::Unnamed)?;
    configured_store(&file).map_err(|_| StoreError::Unnamed)
}

/// The ledger that a configuration names. Variables are for its servers, which are not started.
pub(crate) fn configured_store(file: &Path) -> Result<PathBuf, ConfigErrors> {
    Ok(configured(file)?.store)
}

/// The configuration in a file; a variable that is not set is no error, as no server is started.
pub(crate) fn configured(file: &Path) -> Result<Config, ConfigErrors> {
    let lookup = |name: &str| Some(std::env::var(name).unwrap_or_else(|_| "unset".to_owned()));
    config::load_with(file, &lookup)
}

/// Why it is not known which ledger is meant.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// No ledger is named, and no configuration says where it is.
    #[error(
        "no ledger is named and no weaver.toml that can be read is near; name it: `--store .weaver/ledger.db`"
    )]
    Unnamed,
    /// The configuration that was named says nothing of it.
    #[error(transparent)]
    Configuration(#[from] ConfigErrors),
}

/// The named one; or else the nearest one from this folder upwards; or else the user's own.
pub(crate) fn find(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let found = match named {
        Some(path) => Some(path.to_owned()),
        None => look(),
    };
    found.ok_or_else(no_config)
}

/// That there is no configuration.
pub(crate) fn no_config() -> Failure {
    let message = "there is no weaver.toml here, in a folder above, or in your own folder";
    Failure::new(Exit::Invalid, "cli.no_config", message).next(NO_CONFIG_REMEDY)
}

/// What an error of the command line says of a ledger or a configuration that is not there.
pub(crate) fn no_store(error: &clap::Error) -> Option<Failure> {
    let source = std::error::Error::source(error)?;
    matches!(source.downcast_ref(), Some(StoreError::Unnamed)).then(|| {
        let message = format!("no ledger is named, and {}", no_config().message);
        Failure::new(Exit::Invalid, "cli.no_config", message)
            .next("`weaver init` makes a gateway; or name a ledger with `--store FILE`")
    })
}

/// The same, as an absolute path: clients start the gateway from anywhere.
pub(crate) fn absolute(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = find(named)?;
    std::path::absolute(&path).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(Exit::Invalid, "cli.no_config", message)
    })
}

/// The configuration that is meant, if there is one.
pub(crate) fn look() -> Option<PathBuf> {
    let here = std::env::current_dir().ok();
    let upwards =
        here.iter().flat_map(|here| here.ancestors()).map(|folder| folder.join(DEFAULT_NAME));
    let own = Folders::of_this_user().map(|folders| folders.gateway().join(DEFAULT_NAME));
    upwards.chain(own).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_is_named_by_its_file_or_by_the_configuration_of_its_gateway() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.db");
        assert_eq!(store(ledger.to_str().unwrap()).unwrap(), ledger);
        let missing = folder.path().join("weaver.toml");
        let refused = store(missing.to_str().unwrap()).unwrap_err();
        assert!(refused.to_string().contains("weaver.toml"), "{refused}");
        let config = "[principal]\nid = \"ana\"\n[store]\npath = \"own/ledger.db\"\n[mcpServers.a]\ncommand = \"a\"\n";
        std::fs::write(&missing, config).unwrap();
        let refused = store(missing.to_str().unwrap()).unwrap_err();
        assert!(refused.to_string().contains("trust.root"), "{refused}");
    }
}
