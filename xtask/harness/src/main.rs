//! How good and how fast Weaver is, and how it interoperates with third-party programs.
//!
//! `cargo xtask conformance|eval|interop|speed|peers` starts this program. It builds what it measures.

mod build;
mod conformance;
mod counterparts;
mod eval;
mod interop;
mod peers;
mod speed;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xshell::Shell;
use xtask::{child, install, process, tally, workspace};

/// Evaluations, and comparisons with programs that others wrote.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Test `weaver serve` with MCP servers and clients from npm and PyPI.
    Interop(interop::Args),
    /// Run the official conformance suite of the protocol against a gateway.
    Conformance(conformance::Args),
    /// Decide the same calls with other policy engines, and compare answers and times.
    Peers(peers::Args),
    /// Measure how good a part is, on a corpus outside the repository.
    Eval(eval::Args),
    /// Measure how fast a part is, compared with its peer on the same inputs.
    Speed(speed::Args),
}

fn main() -> ExitCode {
    process::exit_code(dispatch(Cli::parse().verb))
}

fn dispatch(verb: Verb) -> Result<()> {
    let sh = Shell::new()?;
    sh.change_dir(workspace::root()?);
    match verb {
        Verb::Interop(args) => interop::run(&sh, &args),
        Verb::Conformance(args) => conformance::run(&sh, &args),
        Verb::Peers(args) => peers::run(&sh, &args),
        Verb::Eval(args) => eval::run(&sh, &args),
        Verb::Speed(args) => speed::run(&sh, &args),
    }
}
