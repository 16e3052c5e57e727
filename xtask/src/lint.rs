//! `cargo xtask lint`.

use anyhow::Result;
use xshell::Shell;

use crate::process;

/// Run Clippy for all targets and features; a warning is a failure.
pub fn run(sh: &Shell) -> Result<()> {
    process::run(
        process::cargo(sh)
            .args(["clippy", "--workspace", "--all-targets", "--all-features"])
            .args(["--", "-D", "warnings"]),
    )
}
