//! `cargo xtask doc`.

use anyhow::Result;
use xshell::Shell;

use crate::process;

/// Build the documentation of our own packages; a warning is a failure.
pub fn run(sh: &Shell) -> Result<()> {
    process::run(
        process::cargo(sh)
            .args(["doc", "--workspace", "--all-features", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}
