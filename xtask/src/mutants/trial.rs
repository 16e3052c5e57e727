//! Runs the tests, each in its own process, to find which mutants they reach and catch.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::build::Build;
use super::listing::Mutant;

/// The most tests that one process runs; the first process runs one.
const MAX_TESTS_PER_PROCESS: usize = 200;
/// The time a process may take in addition to five times the duration of its tests.
const EXTRA_TIME: Duration = Duration::from_secs(8);

/// What happened to a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A test failed.
    Caught,
    /// A test did not end.
    Stuck,
    /// Tests reach it, and pass.
    Missed,
    /// No test reaches it.
    Unreached,
}

impl Outcome {
    /// Why it survived; `None` if it was caught.
    pub fn survives(self) -> Option<&'static str> {
        match self {
            Self::Caught | Self::Stuck => None,
            Self::Missed => Some("missed"),
            Self::Unreached => Some("unreached"),
        }
    }
}

/// A test that passes without mutants.
#[derive(Debug)]
struct Test {
    program: PathBuf,
    name: String,
    duration: Duration,
    /// The duration without the start-up of its program, which many tests share.
    own_time: Duration,
    /// How many mutants it reaches. A test that reaches few is specific to them.
    reached_mutants: usize,
}

/// The tests of a crate.
pub struct Tests {
    folder: PathBuf,
    all: Vec<Test>,
    /// The tests that reach each mutant.
    reaching: HashMap<usize, Vec<usize>>,
}

/// What is switched on in a process.
enum Switch<'a> {
    /// No mutant; the mutants that are reached are written to this file.
    None { reached: &'a PathBuf },
    /// This mutant.
    On(usize),
}

/// How a process ended.
enum ProcessEnd {
    Passed,
    Failed,
    Stuck,
}

impl Tests {
    /// Runs every test once without a mutant. A test that takes ten times the limit is left out.
    ///
    /// # Errors
    /// If a test fails.
    pub fn run(build: &Build, limit: f64) -> Result<Self> {
        let at_most = Duration::from_secs_f64(limit * 10.0);
        let mut named = Vec::new();
        for program in &build.programs {
            let ignored = list(program, &["--ignored"])?;
            let all = list(program, &[])?.into_iter().filter(|name| !ignored.contains(name));
            named.extend(all.map(|name| (program.clone(), name)));
        }
        let tests = Mutex::new(Self {
            folder: build.folder.clone(),
            all: Vec::new(),
            reaching: HashMap::new(),
        });
        let (failed, slow) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        for_each(&named, |at, (program, name)| {
            let reached = std::env::temp_dir().join(format!("reached-{}-{at}", std::process::id()));
            let begin = Instant::now();
            let switch = Switch::None { reached: &reached };
            let end = run_tests(&build.folder, program, &[name], switch, at_most);
            let duration = begin.elapsed();
            let ids = fs::read_to_string(&reached).unwrap_or_default();
            let _ = fs::remove_file(&reached);
            match end {
                Ok(ProcessEnd::Passed) => {}
                Ok(ProcessEnd::Stuck) => {
                    slow.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                Ok(ProcessEnd::Failed) | Err(_) => {
                    failed.lock().expect("no holder panics").push(name.clone());
                    return;
                }
            }
            let mut tests = tests.lock().expect("no holder panics");
            let number = tests.all.len();
            let ids: BTreeSet<usize> = ids.lines().filter_map(|id| id.parse().ok()).collect();
            let (program, name) = (program.clone(), name.clone());
            tests.all.push(Test {
                program,
                name,
                duration,
                own_time: duration,
                reached_mutants: ids.len(),
            });
            for id in ids {
                tests.reaching.entry(id).or_default().push(number);
            }
        });
        let failed = failed.into_inner().expect("no holder panics");
        if !failed.is_empty() {
            bail!("with nothing broken, these tests fail: {}", failed.join(", "));
        }
        let mut tests = tests.into_inner().expect("no holder panics");
        tests.estimate_own_times();
        match slow.into_inner() {
            0 => {}
            slow => eprintln!("{slow} of {} tests take too long", named.len()),
        }
        Ok(tests)
    }

    /// Estimates the start-up of a program (for example, to compile its rules) as the first
    /// quartile of the durations of its tests.
    fn estimate_own_times(&mut self) {
        let mut duration: HashMap<PathBuf, Vec<Duration>> = HashMap::new();
        for test in &self.all {
            duration.entry(test.program.clone()).or_default().push(test.duration);
        }
        duration.values_mut().for_each(|duration| duration.sort_unstable());
        for test in &mut self.all {
            let begin =
                duration.get(&test.program).and_then(|duration| duration.get(duration.len() / 4));
            let own_time = test.duration.saturating_sub(begin.copied().unwrap_or_default());
            test.own_time = own_time.max(Duration::from_millis(1));
        }
    }

    /// Tries each mutant, and reports each outcome when it is known. The returned outcomes are in
    /// the order of the mutants.
    ///
    /// # Errors
    /// The first error of a report.
    pub fn try_all(
        &self,
        mutants: &[&Mutant],
        limit: f64,
        report: impl Fn(&Mutant, Outcome) -> io::Result<()> + Sync,
    ) -> Result<Vec<Outcome>> {
        let outcomes = Mutex::new(vec![Outcome::Unreached; mutants.len()]);
        let failed = Mutex::new(None);
        let done = AtomicUsize::new(0);
        // Cheapest first, so that most mutants are done early.
        let costs = |mutant: &Mutant| -> Duration {
            let reaching = self.reaching.get(&mutant.id).into_iter().flatten();
            reaching.filter_map(|test| self.all.get(*test)).map(|test| test.duration).sum()
        };
        let mut order: Vec<(usize, &Mutant)> = mutants.iter().copied().enumerate().collect();
        order.sort_by_cached_key(|(_, mutant)| costs(mutant));
        for_each(&order, |_, (at, mutant)| {
            let outcome = self.try_one(mutant.id, Duration::from_secs_f64(limit));
            outcomes.lock().expect("no holder panics")[*at] = outcome;
            if let Err(error) = report(mutant, outcome) {
                failed.lock().expect("no holder panics").get_or_insert(error);
            }
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(100) {
                eprintln!("{done} of {} mutants tried", mutants.len());
            }
        });
        match failed.into_inner().expect("no holder panics") {
            Some(error) => Err(error).context("cannot report an outcome"),
            None => Ok(outcomes.into_inner().expect("no holder panics")),
        }
    }

    fn try_one(&self, mutant: usize, limit: Duration) -> Outcome {
        let Some(reaching) = self.reaching.get(&mutant) else { return Outcome::Unreached };
        let mut tests: Vec<&Test> = reaching.iter().map(|test| &self.all[*test]).collect();
        tests.sort_by_key(|test| test.duration);
        let mut together = Duration::ZERO;
        tests.retain(|test| {
            let first = together.is_zero();
            together += test.own_time;
            first || together <= limit
        });
        // Unit tests first: they are the fastest and reach the fewest mutants.
        let order: Vec<&PathBuf> = tests.iter().map(|test| &test.program).collect();
        let place = |test: &Test| order.iter().position(|program| **program == test.program);
        tests.sort_by_cached_key(|test| (place(test), test.reached_mutants));
        let mut at_once = 1;
        for of_program in tests.chunk_by(|a, b| a.program == b.program) {
            let mut rest = of_program;
            while !rest.is_empty() {
                let (now, later) = rest.split_at(at_once.min(rest.len()));
                let duration: Duration = now.iter().map(|test| test.duration).sum();
                let names: Vec<&String> = now.iter().map(|test| &test.name).collect();
                let (program, switch) = (&now[0].program, Switch::On(mutant));
                match run_tests(&self.folder, program, &names, switch, duration * 5 + EXTRA_TIME) {
                    Ok(ProcessEnd::Passed) => {}
                    Ok(ProcessEnd::Failed) | Err(_) => return Outcome::Caught,
                    Ok(ProcessEnd::Stuck) => return Outcome::Stuck,
                }
                rest = later;
                at_once = (at_once * 6).min(MAX_TESTS_PER_PROCESS);
            }
        }
        Outcome::Missed
    }
}

/// The names of the tests in a program.
fn list(program: &PathBuf, more: &[&str]) -> Result<Vec<String>> {
    let output = Command::new(program).args(["--list", "--format", "terse"]).args(more).output();
    let output = output.with_context(|| format!("cannot start {}", program.display()))?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// Runs some tests of a program in one process, and kills it if it takes too long.
fn run_tests(
    folder: &PathBuf,
    program: &PathBuf,
    tests: &[&String],
    switch: Switch<'_>,
    at_most: Duration,
) -> Result<ProcessEnd> {
    let mut command = Command::new(program);
    match switch {
        Switch::None { reached } => command.env("MUTANTS_REACHED", reached),
        Switch::On(mutant) => command.env("MUTANT", mutant.to_string()),
    };
    let mut child = command
        .args(["--exact", "--test-threads=1", "--quiet"])
        .args(tests)
        .env("CARGO_MANIFEST_DIR", folder)
        // A failure under one mutant is no regression case for the next.
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let begin = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { ProcessEnd::Passed } else { ProcessEnd::Failed });
        }
        if begin.elapsed() > at_most {
            child.kill()?;
            child.wait()?;
            return Ok(ProcessEnd::Stuck);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Calls a function for each item, in parallel on all processors.
fn for_each<T: Sync>(items: &[T], act: impl Fn(usize, &T) + Sync) {
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, item)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    items.get(at).map(|item| (at, item))
                } {
                    act(at, item);
                }
            });
        }
    });
}
