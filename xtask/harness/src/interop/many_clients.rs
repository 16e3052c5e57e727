//! Many stock clients at once on one configuration: each has a shim of its own, and all of them one
//! daemon. Every call has a value of its own, which its answer must hold, and no other.
//!
//! With kills, the daemon ends by `kill -9` in the middle of the work. A server that appends a line
//! for each call tells how often each ran.

mod answer;
mod worker;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
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
use crate::counterparts::trust::Trust;

const PATIENCE: Duration = Duration::from_secs(60);
/// Calls of each kind that a client makes.
const ROUNDS: usize = 3;
/// How long the daemon may take to let clients work between two kills.
const LULL: Duration = Duration::from_secs(240);

/// How many clients there are, and how often the daemon is killed under them.
pub struct TrialSetting {
    pub clients: usize,
    pub kills: usize,
    pub instances: Instances,
}

/// Which processes of a server the clients get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Instances {
    /// Each its own.
    Client,
    /// All the same.
    TrialState,
}

impl Instances {
    /// Its name in the configuration.
    fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::TrialState => "shared",
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
    /// All handles are there.
    met: Barrier,
}

/// What came of a trial.
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
    fs::write(&config, text(trust, servers, instances))?;
    let serve = [weaver, Path::new("serve"), Path::new("--config"), &config];
    let shared = TrialState {
        cache,
        serve: serve.map(|word| word.display().to_string()).to_vec(),
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
        let killed = kill(weaver, &config, shared, setting);
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
    failures.extend(worked.iter().flat_map(|one| miscounted(one, &effects)));
    let stopped = stop(weaver, &config);
    if let Err(error) = stopped.and_then(|()| verify(cache, weaver, &folder)) {
        failures.push(format!("{error:#}"));
    }
    let runs =
        runs(cache, weaver, &folder).map_or_else(|error| format!("{error:#}"), |n| n.to_string());
    let cells = cells(setting, &worked, failures.len(), &runs, took);
    let place = |failure: String| {
        format!("{clients} clients, {kills} kills: {failure}; see {}", folder.display())
    };
    Ok(TrialSummary { cells, failures: failures.into_iter().map(place).collect() })
}

/// The row of a trial.
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
fn text(trust: &Trust, servers: [(&str, Vec<String>); 2], instances: Instances) -> String {
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

/// Kills the daemon each time that another part of the work is done.
fn kill(
    weaver: &Path,
    config: &Path,
    shared: &TrialState<'_>,
    setting: &TrialSetting,
) -> Result<()> {
    let all = setting.clients * ROUNDS * 2;
    for nth in 1..=setting.kills {
        let until = Instant::now() + LULL;
        while shared.answered.load(Ordering::Relaxed) < all * nth / (setting.kills + 1) {
            ensure!(Instant::now() < until, "the clients did not come that far");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut status = Command::new(weaver);
        status.args(["status", "--json", "--config"]).arg(config);
        let said = child::run(&mut status, "", PATIENCE)?.succeeded("weaver status")?;
        let said: Value = serde_json::from_str(&said)?;
        let pid = said["pid"].as_u64().with_context(|| format!("no `pid` in {said}"))?;
        let mut kill = Command::new("kill");
        child::run(kill.args(["-KILL", &pid.to_string()]), "", PATIENCE)?.succeeded("kill")?;
    }
    Ok(())
}

/// What the file of effects says otherwise than the answers.
fn miscounted(worked: &ClientWork, effects: &str) -> Vec<String> {
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

fn stop(weaver: &Path, config: &Path) -> Result<()> {
    let mut stop = Command::new(weaver);
    stop.arg("stop").arg("--config").arg(config).stdout(Stdio::null()).stderr(Stdio::null());
    stop.status().map(drop).context("`weaver stop` does not start")
}

fn store(folder: &Path) -> PathBuf {
    folder.join(".weaver/ledger.db")
}

fn verify(cache: &Cache, weaver: &Path, folder: &Path) -> Result<()> {
    let mut verify = cache.command(weaver);
    verify.args(["trace", "verify", "--store"]).arg(store(folder));
    child::run(&mut verify, "", PATIENCE)?.succeeded("weaver trace verify").map(drop)
}

/// How many runs the log has.
fn runs(cache: &Cache, weaver: &Path, folder: &Path) -> Result<usize> {
    let mut seen = std::collections::BTreeSet::new();
    let mut after: Option<String> = None;
    loop {
        let mut list = cache.command(weaver);
        list.args(["trace", "list", "--json", "--oldest-first", "--limit", "1000", "--store"]);
        list.arg(store(folder));
        if let Some(cursor) = &after {
            list.args(["--after", cursor]);
        }
        let page = child::run(&mut list, "", PATIENCE)?.succeeded("weaver trace list")?;
        let events: Result<Vec<Value>, _> = page.lines().map(serde_json::from_str).collect();
        let events = events.context("a line of the list is no JSON")?;
        seen.extend(events.iter().filter_map(|event| event["run"].as_str().map(str::to_owned)));
        match events.last() {
            Some(last) => after = last["cursor"].as_str().map(str::to_owned),
            None => return Ok(seen.len()),
        }
    }
}
