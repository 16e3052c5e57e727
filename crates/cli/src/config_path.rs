//! Which configuration a command means when none is named.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use weaver_gateway::clients::Folders;
use weaver_gateway::config::{self, ConfigErrors, DEFAULT_NAME, NO_CONFIG_REMEDY};

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

/// Reads `--store`: without the option, the ledger of the configuration that is meant.
pub(crate) fn store(text: &str) -> Result<PathBuf, NoStore> {
    if !text.is_empty() {
        return Ok(PathBuf::from(text));
    }
    let file = look().ok_or(NoStore)?;
    configured_store(&file).map_err(|_| NoStore)
}

/// The ledger that a configuration names. Variables are for its servers, which are not started.
pub(crate) fn configured_store(file: &Path) -> Result<PathBuf, ConfigErrors> {
    let lookup = |name: &str| Some(std::env::var(name).unwrap_or_else(|_| "unset".to_owned()));
    Ok(config::load_with(file, &lookup)?.store)
}

/// No ledger is named, and no configuration says where it is.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error(
    "no ledger is named and no weaver.toml that can be read is near; name it: `--store .weaver/ledger.db`"
)]
pub(crate) struct NoStore;

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
    source.is::<NoStore>().then(|| {
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
