//! `cargo xtask eval|interop|speed|peers`: evaluations and comparisons. They are a package of their
//! own, `weaver-harness`, so that the checks build quickly.

use anyhow::Result;
use xshell::Shell;

use crate::process;

/// Arguments of a verb that the harness reads.
#[derive(clap::Args)]
pub struct Args {
    /// Passed on as they are; `--help` says what there is.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<String>,
}

/// Build the harness and hand it the verb.
///
/// # Errors
/// When the harness does not build, or ends with an error.
pub fn run(sh: &Shell, verb: &str, args: &Args) -> Result<()> {
    let harness = process::cargo(sh).args(["run", "--quiet", "--package", "weaver-harness", "--"]);
    process::run(harness.arg(verb).args(&args.args))
}
