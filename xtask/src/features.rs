//! `cargo xtask features`: each library must build without its default features.

use anyhow::Result;
use xshell::Shell;

use crate::{process, workspace};

/// Check each published library alone, so that no neighbour's features help it.
pub fn run(sh: &Shell) -> Result<()> {
    let metadata = workspace::metadata()?;
    for package in workspace::published(&metadata) {
        let name = package.name.as_str();
        process::run(process::cargo(sh).args(["check", "--no-default-features", "-p", name]))?;
    }
    Ok(())
}
