//! `cargo xtask conformance`: the official conformance suite of the protocol, against the gateway and
//! the server behind it, and against the client that the gateway is to servers.
//!
//! The suite speaks Streamable HTTP and wants tools, resources and prompts of fixed names, so the
//! gateway is in proxy mode with unprefixed names and one server, the fixture. What the fixture itself
//! does not pass is no failure of the gateway. `docs/reference/protocol.md` has the scenarios that do
//! not pass, and why. The client also logs in at a real authorization server, which is no scenario of
//! the suite.

pub mod gateway;
mod provider;
mod suite;

use std::path::Path;

use anyhow::{Result, ensure};
use xshell::Shell;

use self::gateway::Subjects;
use self::suite::{Checks, Plan, Scenarios, Subject, Suite, lost};
use crate::{process, workspace};

/// The revisions whose scenarios are run, unless one is named.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// A scenario in which one tool gives one result.
const FIRST: &str = "tools-call-simple-text";

/// Options of `conformance`.
#[derive(clap::Args)]
pub struct Args {
    /// Where a gateway serves `/mcp`; without it, one is built and started.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Where the server behind it serves by itself; its results stand beside the gateway's.
    #[arg(long, value_name = "URL", requires = "url")]
    pub fixture: Option<String>,
    /// Run the scenarios of this revision only.
    #[arg(long, value_name = "REVISION")]
    pub revision: Option<String>,
    /// Run this scenario only.
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,
    /// Try one side only: the gateway as a server, or as a client of servers.
    #[arg(long, value_name = "SIDE", value_parser = ["server", "client"])]
    pub side: Option<String>,
}

/// Install the suite, run it, and print what passed.
///
/// # Errors
/// When a scenario that the fixture passes does not pass through the gateway, or one does not pass as a
/// client.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let metadata = workspace::metadata()?;
    let target = metadata.target_directory.as_std_path();
    let folder = target.join("conformance");
    let suite = Suite::installed(&folder, &workspace::root()?)?;
    let runs = |side: &str| args.side.as_deref().is_none_or(|only| only == side);
    let mut failed = 0;
    if runs("server") {
        failed += server(sh, args, &suite, target)?;
    }
    if runs("client") && args.url.is_none() {
        failed += client(sh, args, &suite, target)?;
    }
    ensure!(failed == 0, "{failed} scenarios do not pass");
    Ok(())
}

fn revisions(args: &Args) -> Vec<&str> {
    match &args.revision {
        Some(revision) => vec![revision.as_str()],
        None => REVISIONS.to_vec(),
    }
}

/// The gateway as a server; how many scenarios are lost in it.
fn server(sh: &Shell, args: &Args, suite: &Suite, target: &Path) -> Result<usize> {
    let folder = target.join("conformance");
    let weaver = gateway::built(target, "weaver");
    if args.url.is_none() {
        process::run(process::cargo(sh).args(["build", "-p", "weaver-cli", "--bin", "weaver"]))?;
    }
    let mut failed = 0;
    for revision in revisions(args) {
        let started = match &args.url {
            Some(_) => None,
            None => Some(Subjects::start(target, &suite.node, &weaver, revision)?),
        };
        let (url, direct) = match (&started, &args.url) {
            (Some(started), _) => (started.gateway.as_str(), Some(started.fixture.as_str())),
            (None, url) => (url.as_deref().unwrap_or_default(), args.fixture.as_deref()),
        };
        let run = |url: &str, name: &str| {
            let plan =
                Plan { revision, scenario: args.scenario.as_deref(), folder: &folder.join(name) };
            suite.run(&Subject::Server(url), &plan)
        };
        // The first result that a process redacts compiles what looks for secrets: in a debug build
        // that takes longer than some scenarios wait.
        let first = Plan { revision, scenario: Some(FIRST), folder: &folder.join("first") };
        suite.run(&Subject::Server(url), &first)?;
        let direct = direct.map(|url| run(url, "direct")).transpose()?;
        let through = run(url, "gateway")?;
        if let Some(direct) = &direct {
            print(&format!("{revision}, fixture"), direct);
        }
        print(&format!("{revision}, gateway"), &through);
        for (name, checks) in lost(direct.as_ref(), &through) {
            failed += 1;
            println!("  lost: {name} ({})", shown(checks));
        }
    }
    Ok(failed)
}

/// The client that the gateway is to servers; how many scenarios do not pass.
fn client(sh: &Shell, args: &Args, suite: &Suite, target: &Path) -> Result<usize> {
    let name = "conformance_client";
    process::run(process::cargo(sh).args(["build", "-p", "weaver-drivers", "--example", name]))?;
    let program = gateway::built(target, &format!("examples/{name}"));
    let mut failed = 0;
    for revision in revisions(args) {
        let folder = target.join("conformance/client");
        let plan = Plan { revision, scenario: args.scenario.as_deref(), folder: &folder };
        let found = suite.run(&Subject::Client(&program), &plan)?;
        print(&format!("{revision}, client"), &found);
        for (name, checks) in lost(None, &found) {
            failed += 1;
            println!("  failed: {name} ({})", shown(checks));
        }
    }
    if args.revision.is_none() && args.scenario.is_none() {
        provider::run(suite, &program)?;
    }
    Ok(failed)
}

fn print(what: &str, scenarios: &Scenarios) {
    let sum = scenarios.values().fold(Checks::default(), |all, one| Checks {
        passed: all.passed + one.passed,
        failed: all.failed + one.failed,
    });
    println!("{what}: {} checks passed/failed in {} scenarios", shown(sum), scenarios.len());
}

fn shown(checks: Checks) -> String {
    format!("{}/{}", checks.passed, checks.failed)
}
