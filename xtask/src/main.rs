//! `cargo xtask VERB`: development tasks of the project. This file only dispatches; each verb has
//! its own file.

mod api;
mod bench;
mod ci;
mod crosscheck;
mod dependencies;
mod doc;
mod examples;
mod features;
mod fmt;
mod fuzz;
mod harness;
mod layers;
mod lint;
mod mutants;
mod package;
mod parsed_crate;
mod picture;
mod test;
mod tidy;
mod windows;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xshell::Shell;
use xtask::{child, install, process, tally, workspace};

/// The project's own chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run every check, cheapest first, and stop at the first that fails.
    Ci(ci::Args),
    /// Format the workspace, or only report what is not formatted.
    Fmt(fmt::Args),
    /// Run clippy over all targets and features; a warning fails.
    Lint,
    /// Prove from cargo metadata that every dependency goes to a lower tier.
    Layers(layers::Args),
    /// Check the house rules: sizes, names, words, manifests, docs, dependencies, licences.
    Tidy,
    /// Run the tests with nextest, then the doctests.
    Test(test::Args),
    /// Draw the picture of the README and build the documentation; a warning fails.
    Doc(doc::Args),
    /// Write the public interface of each crate to `docs/api/`, or report where it has changed.
    Api(api::Args),
    /// Count the dependencies of each crate, and fail if one exceeds its limit.
    Dependencies,
    /// Check each published crate without its default features, or with each feature alone.
    Features(features::Args),
    /// Run the examples and compare what they print with `examples/golden/`.
    Examples(examples::Args),
    /// Verify the same logs and proofs, valid and mutated, with a second verifier.
    Crosscheck,
    /// Run the benches.
    Bench(bench::Args),
    /// Test `weaver serve` with MCP servers and clients from npm and PyPI.
    #[command(disable_help_flag = true)]
    Interop(harness::Args),
    /// Run the official conformance suite of the protocol against a gateway.
    #[command(disable_help_flag = true)]
    Conformance(harness::Args),
    /// Decide the same calls with other policy engines, and compare answers and times.
    #[command(disable_help_flag = true)]
    Peers(harness::Args),
    /// Measure how good a part is, on a corpus outside the repository.
    #[command(disable_help_flag = true)]
    Eval(harness::Args),
    /// Measure how fast a part is, compared with its peer on the same inputs.
    #[command(disable_help_flag = true)]
    Speed(harness::Args),
    /// Fuzz the parsers of the policy crate and the firewall.
    Fuzz(fuzz::Args),
    /// Mutate crates, and list the mutants that no test detects.
    Mutants(mutants::Args),
    /// Build and verify every package as it would be published, without publishing.
    Package(package::Args),
    /// Build the command for Windows, and run what every system must pass under Wine.
    Windows(windows::Args),
}

fn main() -> ExitCode {
    process::exit_code(dispatch(Cli::parse().verb))
}

fn dispatch(verb: Verb) -> Result<()> {
    let sh = Shell::new()?;
    sh.change_dir(workspace::root()?);
    match verb {
        Verb::Ci(args) => ci::run(&sh, &args),
        Verb::Fmt(args) => fmt::run(&sh, &args),
        Verb::Lint => lint::run(&sh),
        Verb::Layers(args) => layers::run(&sh, &args),
        Verb::Tidy => tidy::run(&sh),
        Verb::Test(args) => test::run(&sh, &args),
        Verb::Doc(args) => doc::run(&sh, &args),
        Verb::Api(args) => api::run(&sh, &args),
        Verb::Dependencies => dependencies::run(&sh),
        Verb::Features(args) => features::run(&sh, &args),
        Verb::Examples(args) => examples::run(&sh, &args),
        Verb::Crosscheck => crosscheck::run(&sh),
        Verb::Bench(args) => bench::run(&sh, &args),
        Verb::Interop(args) => harness::run(&sh, "interop", &args),
        Verb::Conformance(args) => harness::run(&sh, "conformance", &args),
        Verb::Peers(args) => harness::run(&sh, "peers", &args),
        Verb::Eval(args) => harness::run(&sh, "eval", &args),
        Verb::Speed(args) => harness::run(&sh, "speed", &args),
        Verb::Fuzz(args) => fuzz::run(&sh, &args),
        Verb::Mutants(args) => mutants::run(&sh, &args),
        Verb::Package(args) => package::run(&sh, &args),
        Verb::Windows(args) => windows::run(&sh, &args),
    }
}
