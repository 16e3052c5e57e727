//! `cargo xtask peers [--smoke] [--limits]`: our decisions compared with those of other engines.

use anyhow::Result;
use xshell::Shell;

use crate::{process, workspace};

/// A separate workspace, so that nothing else ever builds the other engines.
const MANIFEST: &str = "benches/peers/Cargo.toml";

/// Options of `peers`.
#[derive(clap::Args)]
pub struct Args {
    /// Few rules and short measurements, only to check that it works.
    #[arg(long)]
    pub smoke: bool,
    /// Only documents at and over their limits.
    #[arg(long)]
    pub limits: bool,
}

/// Build the comparison in the release profile and run it.
///
/// # Errors
/// If it does not build, an engine decides differently from the rules, or a document at its limits
/// takes too long.
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
