//! Finds the configuration of a command that names none.

use std::path::{Path, PathBuf};

use weaver_gateway::clients::ClientFolders;
use weaver_gateway::config::{self, Config, ConfigErrors, DEFAULT_FILE_NAME, NO_CONFIG_REMEDY};
use weaver_gateway::setup::UNKNOWN_VALUE;

use super::{Exit, Failure};

/// Reads `--store`: a ledger, or a configuration that names one. Without the option, the ledger of
/// the default configuration.
pub(crate) fn parse_store_argument(text: &str) -> Result<PathBuf, StoreArgumentError> {
    let named = Path::new(text);
    if named.extension().is_some_and(|extension| extension == "toml") {
        return Ok(configured_store(named)?);
    }
    if !text.is_empty() {
        return Ok(named.to_owned());
    }
    let file = find_default().ok_or(StoreArgumentError::NotNamed)?;
    configured_store(&file).map_err(|_| StoreArgumentError::NotNamed)
}

/// The ledger of the default configuration.
pub(crate) fn default_store() -> Result<PathBuf, Failure> {
    Ok(configured_store(&resolve(None)?)?)
}

/// The ledger that a configuration names.
pub(crate) fn configured_store(file: &Path) -> Result<PathBuf, ConfigErrors> {
    Ok(load_ignoring_unset_variables(file)?.store_path)
}

/// Loads a configuration to read it only: a variable that is not set is no error, because no server
/// is started.
pub(crate) fn load_ignoring_unset_variables(file: &Path) -> Result<Config, ConfigErrors> {
    let lookup =
        |name: &str| Some(std::env::var(name).unwrap_or_else(|_| UNKNOWN_VALUE.to_owned()));
    config::load_with(file, &lookup)
}

/// Why no ledger could be found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreArgumentError {
    /// No ledger is named, and no configuration says where it is.
    #[error(
        "no ledger is named and no weaver.toml that can be read is near; name it: `--store .weaver/ledger.db`"
    )]
    NotNamed,
    /// The configuration that was named is invalid.
    #[error(transparent)]
    Configuration(#[from] ConfigErrors),
}

/// The named configuration; else the nearest one in this folder or above; else the user's own.
pub(crate) fn resolve(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = match named {
        Some(path) => Some(path.to_owned()),
        None => find_default(),
    };
    path.ok_or_else(no_config_failure)
}

/// The failure of a command that finds no configuration.
pub(crate) fn no_config_failure() -> Failure {
    let message = "there is no weaver.toml here, in a folder above, or in your own folder";
    Failure::new(Exit::Invalid, "cli.no_config", message).with_next_step(NO_CONFIG_REMEDY)
}

/// Rewrites clap's error when `--store` is missing and no configuration names a ledger.
pub(crate) fn no_store_failure(error: &clap::Error) -> Option<Failure> {
    let source = std::error::Error::source(error)?;
    matches!(source.downcast_ref(), Some(StoreArgumentError::NotNamed)).then(|| {
        let message = format!("no ledger is named, and {}", no_config_failure().message);
        Failure::new(Exit::Invalid, "cli.no_config", message)
            .with_next_step("`weaver init` makes a gateway; or name a ledger with `--store FILE`")
    })
}

/// The absolute path of a configuration, because clients start the gateway from any folder.
pub(crate) fn absolute(file: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(file).map_err(|error| {
        let message = format!("{}: {error}", file.display());
        Failure::new(Exit::Invalid, "cli.no_config", message)
    })
}

/// The nearest configuration in this folder or above, or else the user's own.
pub(crate) fn find_default() -> Option<PathBuf> {
    let working_folder = std::env::current_dir().ok();
    let upwards = working_folder.iter().flat_map(|folder| in_folder_or_above(folder));
    let user_config = ClientFolders::for_current_user()
        .map(|folders| folders.gateway_folder().join(DEFAULT_FILE_NAME));
    upwards.chain(user_config).find(|path| path.is_file())
}

/// Where a configuration may be found from a folder. In the folders above, files of other users do
/// not count: anyone can put one into `/tmp`, and its programs would run.
fn in_folder_or_above(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let own = folder.join(DEFAULT_FILE_NAME);
    let above = folder.ancestors().skip(1).map(|folder| folder.join(DEFAULT_FILE_NAME));
    std::iter::once(own).chain(above.filter(|path| is_own(path)))
}

/// True for a file of this user or of root.
#[cfg(unix)]
fn is_own(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let user = rustix::process::geteuid().as_raw();
    std::fs::metadata(path).is_ok_and(|about| [0, user].contains(&about.uid()))
}

#[cfg(not(unix))]
fn is_own(_path: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn above_a_folder_only_files_of_this_user_and_of_root_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let above = folder.path().join(DEFAULT_FILE_NAME);
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(&above, "").unwrap();
        let finds = |from: &Path| in_folder_or_above(from).any(|path| path == above);
        assert!(finds(&inner) && finds(folder.path()));
        // Only root can give a file away.
        if std::os::unix::fs::chown(&above, Some(65_534), None).is_ok() {
            assert!(!finds(&inner) && finds(folder.path()));
        }
    }

    #[test]
    fn a_ledger_is_named_by_its_file_or_by_the_configuration_of_its_gateway() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.db");
        assert_eq!(parse_store_argument(ledger.to_str().unwrap()).unwrap(), ledger);
        let missing = folder.path().join("weaver.toml");
        let refused = parse_store_argument(missing.to_str().unwrap()).unwrap_err();
        assert!(refused.to_string().contains("weaver.toml"), "{refused}");
        let config = "[principal]\nid = \"ana\"\n[store]\npath = \"own/ledger.db\"\n[mcpServers.a]\ncommand = \"a\"\n";
        std::fs::write(&missing, config).unwrap();
        let refused = parse_store_argument(missing.to_str().unwrap()).unwrap_err();
        assert!(refused.to_string().contains("trust.root"), "{refused}");
    }
}
