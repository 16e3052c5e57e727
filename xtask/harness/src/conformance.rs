//! `cargo xtask conformance`: runs the official MCP conformance suite against the gateway as a
//! server and as a client of servers.
//!
//! The suite speaks Streamable HTTP and expects tools, resources and prompts with fixed names, so
//! the gateway runs in proxy mode with unprefixed names and one server, the fixture. What the
//! fixture itself fails is no failure of the gateway. `docs/reference/protocol.md` lists the
//! scenarios that do not pass, and why. The client also logs in at a real authorization server,
//! which is no scenario of the suite.

pub mod gateway;
mod provider;
mod suite;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use xshell::Shell;

use self::gateway::RunningGateway;
use self::suite::{CheckCounts, Scenarios, Subject, Suite, SuiteRun, lost_scenarios};
use crate::{build, process, workspace};

/// The revisions to run, unless one is named.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// The revision with the extension for tasks, and the scenarios of it: extensions belong to no
/// revision, so the suite runs them only by name.
const TASKS_REVISION: &str = "2026-07-28";
const TASK_SCENARIOS: [&str; 10] = [
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-status-notifications",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
];

/// A scenario that calls one tool once.
const WARM_UP_SCENARIO: &str = "tools-call-simple-text";

/// Options of `conformance`.
#[derive(clap::Args)]
pub struct Args {
    /// Where a gateway serves `/mcp`; without it, one is built and started.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Where the server itself serves; its results are compared with the gateway's.
    #[arg(long, value_name = "URL", requires = "url")]
    pub fixture: Option<String>,
    /// Start this program as the gateway instead of building one.
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub weaver: Option<PathBuf>,
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
/// If a scenario that passes with the fixture fails through the gateway, or a client scenario
/// fails.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let metadata = workspace::metadata()?;
    let target = metadata.target_directory.as_std_path();
    let folder = target.join("conformance");
    let suite = Suite::install(&folder, &workspace::root()?)?;
    let runs = |side: &str| args.side.as_deref().is_none_or(|only| only == side);
    let mut failed = 0;
    if runs("server") {
        failed += run_server_scenarios(sh, args, &suite, target)?;
    }
    if runs("client") && args.url.is_none() {
        failed += run_client_scenarios(sh, args, &suite, target)?;
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

/// Runs the scenarios with the gateway as a server; returns how many fail only through it.
fn run_server_scenarios(sh: &Shell, args: &Args, suite: &Suite, target: &Path) -> Result<usize> {
    let folder = target.join("conformance");
    let weaver = match &args.url {
        Some(_) => PathBuf::new(),
        None => build::find_weaver(sh, args.weaver.as_deref(), false)?,
    };
    let mut failed = 0;
    for revision in revisions(args) {
        let started = match &args.url {
            Some(_) => None,
            None => Some(RunningGateway::start(target, &suite.node, &weaver, revision)?),
        };
        let (url, direct) = match (&started, &args.url) {
            (Some(started), _) => (started.gateway.as_str(), Some(started.fixture.as_str())),
            (None, url) => (url.as_deref().unwrap_or_default(), args.fixture.as_deref()),
        };
        let run_one = |url: &str, scenario: Option<&str>, folder: &Path| {
            suite.run(&Subject::Server(url), &SuiteRun { revision, scenario, folder })
        };
        let run = |url: &str, name: &str| {
            let mut found = run_one(url, args.scenario.as_deref(), &folder.join(name))?;
            if args.scenario.is_none() && revision == TASKS_REVISION {
                for scenario in TASK_SCENARIOS {
                    let folder = folder.join(name).join(scenario);
                    found.extend(run_one(url, Some(scenario), &folder)?);
                }
            }
            anyhow::Ok(found)
        };
        // The first redaction in a process compiles the rules for secrets. In a debug build that
        // takes longer than the timeout of some scenarios.
        run_one(url, Some(WARM_UP_SCENARIO), &folder.join("first"))?;
        let direct = direct.map(|url| run(url, "direct")).transpose()?;
        let through = run(url, "gateway")?;
        if let Some(direct) = &direct {
            print(&format!("{revision}, fixture"), direct);
        }
        print(&format!("{revision}, gateway"), &through);
        for (name, checks) in lost_scenarios(direct.as_ref(), &through) {
            failed += 1;
            println!("  lost: {name} ({})", checks_text(checks));
        }
    }
    Ok(failed)
}

/// Runs the scenarios with the gateway as a client of servers; returns how many fail.
fn run_client_scenarios(sh: &Shell, args: &Args, suite: &Suite, target: &Path) -> Result<usize> {
    let name = "conformance_client";
    process::run(process::cargo(sh).args(["build", "-p", "weaver-drivers", "--example", name]))?;
    let program = build::program(&target.join("debug/examples"), name);
    let mut failed = 0;
    for revision in revisions(args) {
        let folder = target.join("conformance/client");
        let plan = SuiteRun { revision, scenario: args.scenario.as_deref(), folder: &folder };
        let found = suite.run(&Subject::Client(&program), &plan)?;
        print(&format!("{revision}, client"), &found);
        for (name, checks) in lost_scenarios(None, &found) {
            failed += 1;
            println!("  failed: {name} ({})", checks_text(checks));
        }
    }
    if args.revision.is_none() && args.scenario.is_none() {
        provider::run(suite, &program)?;
    }
    Ok(failed)
}

fn print(what: &str, scenarios: &Scenarios) {
    let sum = scenarios.values().fold(CheckCounts::default(), |all, one| CheckCounts {
        passed: all.passed + one.passed,
        failed: all.failed + one.failed,
    });
    println!("{what}: {} checks passed/failed in {} scenarios", checks_text(sum), scenarios.len());
}

fn checks_text(checks: CheckCounts) -> String {
    format!("{}/{}", checks.passed, checks.failed)
}
