//! `cargo xtask doc [--check]`.

use anyhow::{Result, bail};
use xshell::Shell;

use crate::{picture, process};

/// Options of `doc`.
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing, and fail if the picture of the README is out of date.
    #[arg(long)]
    pub check: bool,
}

/// Draw the picture of the README, and build the documentation of the workspace's packages; a
/// warning is a failure.
///
/// # Errors
/// If the documentation does not build, or the picture cannot be written or is out of date.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let drawn = picture::svg();
    if !args.check {
        sh.write_file(picture::PATH, &drawn)?;
    } else if sh.read_file(picture::PATH).ok().as_ref() != Some(&drawn) {
        bail!("{} is out of date; run `cargo xtask doc`", picture::PATH);
    }
    process::run(
        process::cargo(sh)
            .args(["doc", "--workspace", "--all-features", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}
