//! `cargo xtask package`: a dry run of publishing.
//!
//! Needs the registry's index (cargo checks that each dependency exists there); with `--offline`
//! in cargo's configuration it works from the local copy.

use anyhow::Result;
use xshell::Shell;

use crate::{process, workspace};

/// Package and verify every published crate, in the order of their dependencies.
///
/// All verification builds share one target folder. Without that, cargo would build every
/// dependency once for each package.
pub fn run(sh: &Shell) -> Result<()> {
    let metadata = workspace::metadata()?;
    let mut command =
        process::cargo(sh).args(["publish", "--workspace", "--dry-run", "--allow-dirty"]);
    for package in workspace::unpublished(&metadata) {
        command = command.args(["--exclude", package.name.as_str()]);
    }
    process::run(command.env("CARGO_TARGET_DIR", &metadata.target_directory))
}
