//! Many stock clients at once on one configuration: each has its own shim, and all share one
//! daemon. Each call has its own value, and its answer must contain that value and no other.
//!
//! With kills, the daemon is killed with `kill -9` during the work. A server that appends a line
//! for each call shows how often each ran.

mod answer;
mod worker;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

pub use self::answer::CallAnswer;
use self::worker::{ClientWork, KeptResult};
use super::report::aligned;
use super::server::Server;
use crate::child;
use crate::counterparts::cache::Cache;
use crate::counterparts::gateway;
use crate::counterparts::trust::Trust;

const TIMEOUT: Duration = Duration::from_secs(60);
/// Calls of each kind per client.
const ROUNDS: usize = 3;
/// How long the clients may take to make enough calls between two kills.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(240);

/// How many clients there are, and how often the daemon is killed.
pub struct TrialSetting {
    pub clients: usize,
    pub kills: usize,
    pub instances: Instances,
}

/// Which server processes the clients get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Instances {
    /// Each client its own.
    Client,
    /// All clients the same.
    Shared,
}

impl Instances {
    /// Its name in the configuration.
    fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Shared => "shared",
        }
    }
}

/// What all clients of a trial share.
struct TrialState<'a> {
    cache: &'a Cache,
    serve: Vec<String>,
    folder: &'a Path,
    /// How many calls have been answered.
    answered: AtomicUsize,
    /// The handle of each client, and the value behind it.
    handles: Mutex<Vec<Option<KeptResult>>>,
    /// Passed when all handles exist.
    met: Barrier,
}

/// The results of a trial.
pub struct TrialSummary {
    cells: Vec<String>,
    pub failures: Vec<String>,
}

/// Starts all clients at the same time and waits for the last.
pub fn run(
    cache: &Cache,
    weaver: &Path,
    trust: &Trust,
    server: &Server,
    setting: &TrialSetting,
) -> Result<TrialSummary> {
    let &TrialSetting { clients, kills, instances } = setting;
    let folder = cache.run().join(format!("clients-{clients}-{}-{kills}", instances.name()));
    let files = folder.join("files");
    fs::create_dir_all(files.join("notes"))?;
    fs::write(files.join("tickets.jsonl"), "")?;
    fs::write(files.join("outbox.txt"), "")?;
    let config = folder.join("weaver.toml");
    let counting = [weaver, Path::new("demo-server"), Path::new("--root"), &files];
    let counting = counting.map(|word| word.display().to_string()).to_vec();
    let servers = [(server.name, server.command(cache, &files)), ("notes", counting)];
    fs::write(&config, config_text(trust, servers, instances))?;
    let shared = TrialState {
        cache,
        serve: gateway::serve_words(weaver, &config),
        folder: &folder,
        answered: AtomicUsize::new(0),
        handles: Mutex::new(vec![None; clients]),
        met: Barrier::new(clients),
    };
    let began = Instant::now();
    let (worked, killed) = std::thread::scope(|scope| {
        let shared = &shared;
        let start = |number| scope.spawn(move || worker::work(shared, number));
        let workers: Vec<_> = (0..clients).map(start).collect();
        let killed = kill_daemon(weaver, &config, shared, setting);
        let worked: Vec<ClientWork> =
            workers.into_iter().filter_map(|one| one.join().ok()).collect();
        (worked, killed)
    });
    let took = began.elapsed();
    let mut failures: Vec<String> = Vec::new();
    if worked.len() != clients {
        failures.push(format!("{} clients panicked", clients - worked.len()));
    }
    if let Err(error) = killed {
        failures.push(format!("the daemon was not killed: {error:#}"));
    }
    failures.extend(worked.iter().flat_map(|one| one.failures.iter().cloned()));
    let effects = fs::read_to_string(files.join("outbox.txt"))?;
    failures.extend(worked.iter().flat_map(|one| miscounted_calls(one, &effects)));
    gateway::stop(weaver, &config);
    if let Err(error) = gateway::verify_log(cache, weaver, &folder) {
        failures.push(format!("{error:#}"));
    }
    let runs = count_runs(cache, weaver, &folder)
        .map_or_else(|error| format!("{error:#}"), |n| n.to_string());
    let cells = cells(setting, &worked, failures.len(), &runs, took);
    let place = |failure: String| {
        format!("{clients} clients, {kills} kills: {failure}; see {}", folder.display())
    };
    Ok(TrialSummary { cells, failures: failures.into_iter().map(place).collect() })
}

/// The table row of a trial.
fn cells(
    setting: &TrialSetting,
    worked: &[ClientWork],
    failures: usize,
    runs: &str,
    took: Duration,
) -> Vec<String> {
    let &TrialSetting { clients, kills, instances } = setting;
    let counted = |answer: &CallAnswer| {
        let all = worked.iter().flat_map(|one| &one.calls);
        all.filter(|call| call.answer == *answer).count().to_string()
    };
    let longest = |of: &dyn Fn(&ClientWork) -> Option<Duration>| {
        let longest = worked.iter().filter_map(of).max().unwrap_or_default();
        format!("{:.1} s", longest.as_secs_f64())
    };
    let slowest = |session| {
        let among = move |one: &ClientWork| {
            one.calls.iter().map(|call| call.took).max().filter(|_| one.session == session)
        };
        longest(&among)
    };
    vec![
        clients.to_string(),
        instances.name().to_owned(),
        kills.to_string(),
        worked.iter().map(|one| one.calls.len()).sum::<usize>().to_string(),
        counted(&CallAnswer::Own),
        counted(&CallAnswer::Unknown),
        counted(&CallAnswer::NotRun),
        failures.to_string(),
        longest(&|one| one.start),
        slowest(true),
        slowest(false),
        runs.to_owned(),
        worked.iter().filter(|one| one.saw_another).count().to_string(),
        format!("{:.0} s", took.as_secs_f64()),
    ]
}

/// The table of all trials.
pub fn table(summaries: &[TrialSummary]) -> String {
    let head = [
        "clients", "instances", "kills", "calls", "own answer", "outcome unknown", "not run",
        "failures", "slowest start", "slowest call", "with a process", "runs", "handles of others",
        "took",
    ];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    lines.extend(summaries.iter().map(|summary| summary.cells.clone()));
    aligned(&lines)
}

/// The text of `weaver.toml`.
fn config_text(trust: &Trust, servers: [(&str, Vec<String>); 2], instances: Instances) -> String {
    let mut upstreams = toml::Table::new();
    for (name, command) in servers {
        let mut words = command.into_iter();
        let program = words.next().unwrap_or_default();
        let upstream = toml::Table::from_iter([
            ("command".to_owned(), program.into()),
            ("args".to_owned(), words.collect::<Vec<String>>().into()),
            ("instances".to_owned(), instances.name().into()),
        ]);
        upstreams.insert(name.to_owned(), upstream.into());
    }
    let principal = toml::Table::from_iter([("id".to_owned(), "interop".into())]);
    let config = toml::Table::from_iter([
        ("principal".to_owned(), principal.into()),
        ("trust".to_owned(), trust.section().into()),
        ("mcpServers".to_owned(), upstreams.into()),
    ]);
    config.to_string()
}

/// Kills the daemon after each equal part of the calls.
fn kill_daemon(
    weaver: &Path,
    config: &Path,
    shared: &TrialState<'_>,
    setting: &TrialSetting,
) -> Result<()> {
    let all = setting.clients * ROUNDS * 2;
    for nth in 1..=setting.kills {
        let until = Instant::now() + PROGRESS_TIMEOUT;
        while shared.answered.load(Ordering::Relaxed) < all * nth / (setting.kills + 1) {
            ensure!(Instant::now() < until, "the clients did not come that far");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut status = Command::new(weaver);
        status.args(["status", "--json", "--config"]).arg(config);
        let said = child::run(&mut status, "", TIMEOUT)?.succeeded("weaver status")?;
        let said: Value = serde_json::from_str(&said)?;
        let pid = said["pid"].as_u64().with_context(|| format!("no `pid` in {said}"))?;
        let mut kill = Command::new("kill");
        child::run(kill.args(["-KILL", &pid.to_string()]), "", TIMEOUT)?.succeeded("kill")?;
    }
    Ok(())
}

/// Calls whose count in the outbox contradicts their answer.
fn miscounted_calls(worked: &ClientWork, effects: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for call in worked.calls.iter().filter(|call| call.counted) {
        let ran = effects.lines().filter(|line| line.contains(&call.value)).count();
        let right = match call.answer {
            CallAnswer::Own => ran == 1,
            CallAnswer::NotRun => ran == 0,
            CallAnswer::Unknown | CallAnswer::Wrong => ran <= 1,
        };
        if !right {
            wrong.push(format!("{}: answered {:?}, ran {ran} times", call.value, call.answer));
        }
    }
    wrong
}

fn store_path(folder: &Path) -> PathBuf {
    folder.join(".weaver/ledger.db")
}

/// How many runs the log has.
fn count_runs(cache: &Cache, weaver: &Path, folder: &Path) -> Result<usize> {
    let mut seen = std::collections::BTreeSet::new();
    let mut after: Option<String> = None;
    loop {
        let mut list = cache.command(weaver);
        list.args(["trace", "list", "--json", "--oldest-first", "--limit", "1000", "--store"]);
        list.arg(store_path(folder));
        if let Some(cursor) = &after {
            list.args(["--after", cursor]);
        }
        let page = child::run(&mut list, "", TIMEOUT)?.succeeded("weaver trace list")?;
        let events: Result<Vec<Value>, _> = page.lines().map(serde_json::from_str).collect();
        let events = events.context("a line of the list is not JSON")?;
        seen.extend(events.iter().filter_map(|event| event["run"].as_str().map(str::to_owned)));
        match events.last() {
            Some(last) => after = last["cursor"].as_str().map(str::to_owned),
            None => return Ok(seen.len()),
        }
    }
}
