//! `cargo xtask lint`.

use anyhow::Result;
use xshell::Shell;

use crate::process;

/// Run Clippy for all targets and features; a warning is a failure. Every package must say why it
/// switches off a lint, also those without the lints of the workspace.
pub fn run(sh: &Shell) -> Result<()> {
    process::run(
        process::cargo(sh)
            .args(["clippy", "--workspace", "--all-targets", "--all-features"])
            .args(["--", "-D", "warnings", "-D", "clippy::allow_attributes_without_reason"]),
    )
}
