//! `cargo xtask conformance|eval|interop|speed|peers`: evaluations and comparisons. They are in the
//! separate package `weaver-harness`, so that the checks build quickly.

use anyhow::Result;
use xshell::Shell;

use crate::process;

/// The arguments of a verb, which the harness parses.
#[derive(clap::Args)]
pub struct Args {
    /// Passed on unchanged; see `--help`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<String>,
}

/// Build the harness and run the verb.
///
/// # Errors
/// If the harness does not build or ends with an error.
pub fn run(sh: &Shell, verb: &str, args: &Args) -> Result<()> {
    let harness = process::cargo(sh).args(["run", "--quiet", "--package", "weaver-harness", "--"]);
    process::run(harness.arg(verb).args(&args.args))
}
