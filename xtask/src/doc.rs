//! `cargo xtask doc`.

use anyhow::Result;
use xshell::Shell;

use crate::process;

/// Build the documentation of the workspace's packages; a warning is a failure.
///
/// # Errors
/// If the documentation does not build.
pub fn run(sh: &Shell) -> Result<()> {
    process::run(
        process::cargo(sh)
            .args(["doc", "--workspace", "--all-features", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}
