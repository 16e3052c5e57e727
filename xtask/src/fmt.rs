//! `cargo xtask fmt [--check]`.

use anyhow::Result;
use xshell::Shell;

use crate::process;

/// Options of `fmt`.
#[derive(clap::Args)]
pub struct Args {
    /// Change nothing; fail when something is not formatted.
    #[arg(long)]
    pub check: bool,
}

/// Format every package of the workspace.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let check = args.check.then_some("--check");
    process::run(process::cargo(sh).args(["fmt", "--all"]).args(check))
}
