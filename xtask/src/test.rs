//! `cargo xtask test [ARGS]`: nextest, then the doctests.

use anyhow::{Context, Result, bail};
use xshell::Shell;

use crate::process;
use crate::tally::Tally;

/// The version that is installed if there is none. `.ci/run` names the same.
pub const NEXTEST_VERSION: &str = "0.9.143";

/// Options of `test`.
#[derive(clap::Args)]
pub struct Args {
    /// Passed on to `cargo nextest run`; with any, the doctests are left out.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<String>,
}

/// Run the tests and print how many passed.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let mut tally = Tally::default();
    let mut outcome = nextest(sh, &args.args, &mut tally);
    if outcome.is_ok() && args.args.is_empty() {
        outcome = doctests(sh, &mut tally);
    }
    println!("{tally}");
    outcome
}

/// Run the tests of the workspace with all features and add them to the tally.
///
/// # Errors
/// If a test fails, or nextest does not report how many tests it ran.
pub fn nextest(sh: &Shell, args: &[String], tally: &mut Tally) -> Result<()> {
    ensure_nextest(sh)?;
    let command = process::cargo(sh)
        .args(["nextest", "run", "--workspace", "--all-features", "--no-tests=pass"])
        .args(["--color", process::colour()])
        .env("NEXTEST_TEST_THREADS", test_threads().to_string())
        .args(args);
    let (output, success) = process::stream(command)?;
    let counted = Tally::from_nextest(&output);
    *tally += counted.unwrap_or_default();
    if !success {
        bail!("cargo nextest failed");
    }
    counted.context("cargo nextest printed no summary line, so nothing proves that tests ran")?;
    Ok(())
}

/// Two tests for each processor: most tests of the command wait for servers that they started.
fn test_threads() -> usize {
    2 * std::thread::available_parallelism().map_or(1, usize::from)
}

/// Run the doctests of all libraries and add them to the tally.
///
/// # Errors
/// If a doctest fails.
pub fn doctests(sh: &Shell, tally: &mut Tally) -> Result<()> {
    let command = process::cargo(sh)
        .args(["test", "--doc", "--workspace", "--all-features", "--no-fail-fast"]);
    let (output, success) = process::stream(command)?;
    *tally += Tally::from_libtest(&output);
    if !success {
        bail!("cargo test --doc failed");
    }
    Ok(())
}

/// Install nextest if it is missing.
fn ensure_nextest(sh: &Shell) -> Result<()> {
    let probe = process::cargo(sh).args(["nextest", "--version"]);
    if probe.quiet().ignore_stderr().ignore_stdout().run().is_ok() {
        return Ok(());
    }
    process::run(
        process::cargo(sh)
            .args(["install", "cargo-nextest", "--locked", "--version", NEXTEST_VERSION])
            // The tool is built in its own target folder, not in ours.
            .env_remove("CARGO_TARGET_DIR"),
    )
}
