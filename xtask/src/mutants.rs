//! `cargo xtask mutants`: mutation testing. Breaks a crate in many small ways, and reports the
//! mutants that no test catches.
//!
//! [cargo-mutants](https://mutants.rs) lists the mutants. Building them one by one would take days,
//! so all mutants of a crate are compiled into one program, each behind a switch that an
//! environment variable sets (*mutant schemata*: Untch, Offutt, Harrold, ISSTA 1993). Each test
//! runs once to find which mutants it reaches. Then each mutant is tried with the tests that reach
//! it, the fastest first, until one fails.

mod build;
mod listing;
mod places;
mod schemata;
mod trial;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::sync::Mutex;

use anyhow::{Context as _, Result, bail};
use xshell::{Shell, cmd};

use self::build::Build;
use self::listing::Mutant;
use self::trial::{Outcome, Tests};

/// The crates that decide, call, mask and record.
const DEFAULT_CRATES: [&str; 4] = ["policy", "agent-kernel", "trace-store", "firewall"];

/// Which crates, which files, and how long.
#[derive(clap::Args)]
pub struct Args {
    /// Source files, from the root of the repository; without any, all of the crates.
    files: Vec<String>,
    /// A crate, by the name of its folder; may be given several times. Without any: policy,
    /// agent-kernel, trace-store, firewall.
    #[arg(long = "crate", value_name = "NAME")]
    crates: Vec<String>,
    /// Only the mutants in `target/mutants/NAME.txt`, which survived the last run.
    #[arg(long)]
    again: bool,
    /// Only every N-th mutant, evenly spread.
    #[arg(long, value_name = "N", default_value_t = 1)]
    sample: usize,
    /// The first mutant of a sample, so that another sample has other mutants.
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
    /// How long the tests of one mutant may take when nothing is broken; of those that would take
    /// longer together, the quickest are run.
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    limit: f64,
}

/// Tests the mutants of each crate, and writes the survivors to `target/mutants/NAME.txt`.
///
/// # Errors
/// If `cargo mutants` is not installed, a test fails without a mutant, or a mutant survives.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    if cmd!(sh, "cargo mutants --version").quiet().ignore_stderr().read().is_err() {
        bail!("`cargo mutants` is missing: cargo install --locked cargo-mutants");
    }
    let chosen = DEFAULT_CRATES.iter().map(|name| (*name).to_owned());
    let crates = if args.crates.is_empty() { chosen.collect() } else { args.crates.clone() };
    let mut survived = 0;
    for name in &crates {
        survived += test_mutants_of(sh, args, name)?;
    }
    if survived > 0 {
        bail!("{survived} mutants survive: see target/mutants/*.txt");
    }
    Ok(())
}

fn test_mutants_of(sh: &Shell, args: &Args, name: &str) -> Result<usize> {
    let all = listing::list_mutants(sh, name)?;
    let build = Build::of(sh, name, &all)?;
    let tests = Tests::run(&build, args.limit)?;
    let path = format!("target/mutants/{name}.txt");
    let last = match args.again {
        true => Some(fs::read_to_string(&path).context("no mutants were tried yet")?),
        false => None,
    };
    let survived: Option<BTreeSet<&str>> = last
        .as_deref()
        .map(|report| report.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect());
    let every = args.sample.max(1);
    let wanted = |mutant: &&Mutant| {
        let listed = args.files.is_empty() || args.files.contains(&mutant.file);
        let again = survived.as_ref().is_none_or(|names| names.contains(mutant.name.as_str()));
        listed && again && mutant.id % every == args.offset % every
    };
    let chosen: Vec<&Mutant> = all.iter().filter(wanted).collect();
    let compiled: Vec<&Mutant> =
        chosen.iter().copied().filter(|mutant| build.contains(mutant.id)).collect();
    eprintln!("{name}: {} mutants, of which {} compile", chosen.len(), compiled.len());
    let file = Mutex::new(File::create(&path)?);
    // Each survivor is appended as soon as it is found, so that tests can be written meanwhile.
    let outcomes = tests.try_all(&compiled, args.limit, |mutant, outcome| {
        let Some(line) = survivor_line(mutant, outcome) else { return Ok(()) };
        file.lock().expect("no holder panics").write_all(line.as_bytes())
    })?;
    let in_order = compiled.iter().zip(&outcomes);
    let report: String =
        in_order.filter_map(|(mutant, outcome)| survivor_line(mutant, *outcome)).collect();
    fs::write(path, report)?;
    let survived = outcomes.iter().filter(|outcome| outcome.survives().is_some()).count();
    let stuck = outcomes.iter().filter(|outcome| **outcome == Outcome::Stuck).count();
    println!(
        "{name}: {} listed, {} compile, {} caught ({stuck} of them by never ending), {survived} survive",
        chosen.len(),
        compiled.len(),
        compiled.len() - survived,
    );
    Ok(survived)
}

/// The report line of a mutant that survives.
fn survivor_line(mutant: &Mutant, outcome: Outcome) -> Option<String> {
    outcome.survives().map(|why| format!("{why} {}\n", mutant.name))
}
