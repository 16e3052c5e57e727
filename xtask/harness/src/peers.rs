//! `cargo xtask peers [--smoke] [--limits]`: our decisions beside those of other engines.

use anyhow::Result;
use xshell::Shell;

use crate::{process, workspace};

/// A workspace of its own, so that nothing else ever builds the other engines.
const MANIFEST: &str = "benches/peers/Cargo.toml";

/// Options of `peers`.
#[derive(clap::Args)]
pub struct Args {
    /// Few rules and short measurements, to see that it works.
    #[arg(long)]
    pub smoke: bool,
    /// Only documents at their limits and over them.
    #[arg(long)]
    pub limits: bool,
}

/// Build the comparison in the release profile and run it.
///
/// # Errors
/// When it does not build, when an engine gives another answer than the rules do, and when a
/// document at its limits takes too long.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let target = workspace::metadata()?.target_directory.join("peers");
    let options = [(args.smoke, "--smoke"), (args.limits, "--limits")];
    process::run(
        process::cargo(sh)
            .args(["run", "--release", "--manifest-path", MANIFEST, "--target-dir"])
            .arg(target)
            .arg("--")
            .args(options.iter().filter(|(wanted, _)| *wanted).map(|(_, option)| option)),
    )
}
