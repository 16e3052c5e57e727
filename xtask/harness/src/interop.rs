//! `cargo xtask interop`: drives `weaver serve` with third-party servers and clients.
//!
//! Real MCP servers run behind the gateway and real MCP clients in front of it. All of them come
//! from npm and PyPI in pinned versions and are installed in `target/interop/`, the only folder
//! that is written. `docs/guide/interop.md` describes what is tested.

mod client;
mod config;
mod contracts;
mod feature_table;
mod features;
mod http;
mod many_clients;
mod mcporter;
mod packages;
mod plan;
mod report;
pub mod server;
pub mod session;
mod tap;
mod trial;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use xshell::Shell;

use self::feature_table::FeatureTable;
use self::many_clients::{Instances, TrialSetting};
use self::packages::Packages;
use self::plan::{Mode, Transport};
use self::report::{Outcome, Report, Row};
use self::trial::TrialSetup;
use crate::counterparts::cache::Cache;
use crate::counterparts::pins::Pins;
use crate::counterparts::registries;
use crate::counterparts::trust::{Documents, Trust};
use crate::install::MissingProgram;
use crate::{build, workspace};

/// The server that has each feature of the protocol.
const FEATURE_SERVER: &str = "everything";

/// Options of `interop`.
#[derive(clap::Args)]
pub struct Args {
    /// Build and drive the optimised program.
    #[arg(long)]
    pub release: bool,
    /// Drive this program instead of building one.
    #[arg(long, value_name = "FILE")]
    pub weaver: Option<PathBuf>,
    /// Try only this server, by its name in the table.
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// How the two sides are reached.
    #[arg(long, value_enum, default_value = "both")]
    pub transport: Transports,
    /// Instead start this many clients at once on one configuration; one trial for each number.
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "server",
        value_parser = clap::value_parser!(u16).range(2..=200))]
    pub clients: Vec<u16>,
    /// Kill the daemon this many times while the clients work.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "clients",
        value_parser = clap::value_parser!(u16).range(0..=10))]
    pub kills: u16,
    /// Which server processes these clients get; by default each client its own.
    #[arg(long, value_enum, requires = "clients", default_value = "client")]
    instances: Instances,
}

/// The transports of a run.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Transports {
    /// Standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
    Both,
}

impl Transports {
    fn has(self, transport: Transport) -> bool {
        match self {
            Self::Stdio => transport == Transport::Stdio,
            Self::Http => transport == Transport::Http,
            Self::Both => true,
        }
    }
}

/// Install the counterparts, drive each pair and print the table.
///
/// # Errors
/// If anything failed. What could not be tried because a registry is unreachable is no failure; it
/// is printed and counted.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let metadata = workspace::metadata()?;
    let target = metadata.target_directory.as_std_path();
    let known = |name: &String| server::SERVERS.iter().any(|server| server.name == name);
    if let Some(name) = args.server.as_ref().filter(|name| !known(name)) {
        let names: Vec<&str> = server::SERVERS.iter().map(|server| server.name).collect();
        bail!("no server `{name}` here; the servers are {}", names.join(", "));
    }
    let weaver = build::find_weaver(sh, args.weaver.as_deref(), args.release)?;
    let run = target.join("interop").join("run");
    let cache = Cache::open(target, &workspace::root()?, &run)?;
    let pins = Pins::read(&cache)?;
    let packages = Packages { npm: registries::npm(&cache), python: registries::python(&cache) };
    for (registry, installed) in [("npm", &packages.npm), ("PyPI", &packages.python)] {
        if let Err(MissingProgram::Broken(reason)) = installed {
            eprintln!("error: installing from {registry} failed: {reason}");
        }
    }
    if !args.clients.is_empty() {
        return many_clients(&cache, &weaver, &packages, args);
    }
    let emit = contracts::build_emitter(sh, target)?;
    let documents = Documents { folder: &cache.script("documents"), name: "policy" };
    let trust =
        Trust::new(&cache, &weaver, &documents).context("cannot set up the signed documents")?;
    let setup = TrialSetup { cache: &cache, weaver: &weaver, trust: &trust };
    let mut report = Report::default();
    for plan in plan::all_plans(&pins) {
        if args.server.as_deref().is_some_and(|name| name != plan.server.name) {
            continue;
        }
        if !args.transport.has(plan.transport()) {
            continue;
        }
        let row = match packages.lacks(&cache, &plan) {
            None => trial::run(&setup, &plan),
            Some(missing) => Row::untried(&plan, missing),
        };
        eprintln!("{}", row.progress());
        report.push(row);
    }
    if let Some(table) = features(&setup, &packages, args, &pins) {
        report.features(table);
    }
    report.contracts(contracts::check_both_directions(&cache, &packages.python, &emit));
    report.print();
    let tally = report.tally();
    println!("{tally}");
    ensure!(tally.failed == 0, "{} of {} failed", tally.failed, tally.failed + tally.passed);
    Ok(())
}

/// Drive many clients at once and print the results.
fn many_clients(cache: &Cache, weaver: &Path, packages: &Packages, args: &Args) -> Result<()> {
    for installed in [&packages.npm, &packages.python] {
        match installed {
            Ok(()) => {}
            Err(MissingProgram::OutOfReach(reason)) => {
                println!("SKIPPED: many clients: {reason}");
                return Ok(());
            }
            Err(MissingProgram::Broken(reason)) => bail!("not installed: {reason}"),
        }
    }
    let documents = Documents { folder: &cache.script("many"), name: "policy" };
    let trust =
        Trust::new(cache, weaver, &documents).context("cannot set up the signed documents")?;
    let server = server::SERVERS.iter().find(|server| server.name == FEATURE_SERVER);
    let server = server.context("the server of the trial is not listed")?;
    let mut summaries = Vec::new();
    for &clients in &args.clients {
        let setting = TrialSetting {
            clients: clients.into(),
            kills: args.kills.into(),
            instances: args.instances,
        };
        summaries.push(many_clients::run(cache, weaver, &trust, server, &setting)?);
    }
    println!("\n{}", many_clients::table(&summaries));
    let failures: Vec<&String> = summaries.iter().flat_map(|one| &one.failures).collect();
    for failure in &failures {
        println!("FAIL: {}", report::clipped(failure));
    }
    ensure!(failures.is_empty(), "{} failures", failures.len());
    Ok(())
}

/// The features of the feature server; `None` if another server is selected.
fn features(
    setup: &TrialSetup<'_>,
    packages: &Packages,
    args: &Args,
    pins: &Pins,
) -> Option<FeatureTable> {
    let plans = plan::all_plans(pins);
    let of = |mode: Mode| {
        plans.iter().find(|plan| plan.server.name == FEATURE_SERVER && plan.mode == mode)
    };
    if args.server.as_deref().is_some_and(|name| name != FEATURE_SERVER) {
        return None;
    }
    let mut table = FeatureTable::default();
    for route in features::ROUTES.into_iter().filter(|route| args.transport.has(route.transport)) {
        let mode = route.mode.unwrap_or(Mode::Gateway);
        let plan = of(mode)?;
        let outcomes = match packages.lacks(setup.cache, plan) {
            None => features::run(setup, plan, route),
            Some(missing) => vec![Outcome::missing(&missing); features::FEATURES.len()],
        };
        table.add_column(route.name(), outcomes);
        eprintln!("features of {} ({}): tried", plan.server_label, route.name());
    }
    Some(table)
}
