//! Installs the pinned packages of `xtask/harness/interop/` from npm and PyPI.

use super::cache::Cache;
use crate::install::{self, InstallOutcome};

/// Installs the npm packages.
pub fn npm(cache: &Cache) -> InstallOutcome {
    install::node_modules(&cache.npm(), &cache.script(""), &|program| cache.installer(program))
}

/// Installs the Python packages into their own environment.
pub fn python(cache: &Cache) -> InstallOutcome {
    let list = cache.script("requirements.txt");
    install::environment(&cache.venv(), &list, &|program| cache.installer(program))
}

/// Installs the SQLite server into a separate environment, because it needs an older SDK than the
/// others.
pub fn sqlite(cache: &Cache) -> InstallOutcome {
    let list = cache.script("requirements-sqlite.txt");
    install::environment(&cache.sqlite_venv(), &list, &|program| cache.installer(program))
}
