//! `cargo xtask ci [--fast]`: every check, cheapest first.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use xshell::Shell;

use crate::tally::Tally;
use crate::{
    api, bench, crosscheck, dependencies, doc, examples, features, fmt, layers, lint, package,
    test, tidy,
};

/// Options of `ci`.
#[derive(clap::Args)]
pub struct Args {
    /// Stop after the tests: no doctests, documentation, examples, packages or benches.
    #[arg(long)]
    pub fast: bool,
}

struct Step {
    name: &'static str,
    /// The command that runs this step alone.
    repeat: &'static str,
    run: fn(&Shell, &mut Tally) -> Result<()>,
}

const fn step(
    name: &'static str,
    repeat: &'static str,
    run: fn(&Shell, &mut Tally) -> Result<()>,
) -> Step {
    Step { name, repeat, run }
}

/// The steps up to the tests, cheapest first.
const FAST: &[Step] = &[
    step("fmt", "cargo xtask fmt --check", |sh, _| fmt::run(sh, &fmt::Args { check: true })),
    step("tidy", "cargo xtask tidy", |sh, _| tidy::run(sh)),
    step("layers", "cargo xtask layers", |sh, _| layers::run(sh, &layers::Args { metadata: None })),
    step("dependencies", "cargo xtask dependencies", |sh, _| dependencies::run(sh)),
    step("api", "cargo xtask api --check", |sh, _| api::run(sh, &api::Args { check: true })),
    step("clippy", "cargo xtask lint", |sh, _| lint::run(sh)),
    step("tests", "cargo nextest run --workspace --all-features", |sh, tally| {
        test::nextest(sh, &[], tally)
    }),
];

/// The steps after them.
const SLOW: &[Step] = &[
    step("crosscheck", "cargo xtask crosscheck", |sh, _| crosscheck::run(sh)),
    step("no default features", "cargo xtask features", |sh, _| {
        features::run(sh, &features::Args { each: false })
    }),
    step("each feature", "cargo xtask features --each", |sh, _| {
        features::run(sh, &features::Args { each: true })
    }),
    step("doctests", "cargo test --doc --workspace --all-features", test::doctests),
    step("doc", "cargo xtask doc --check", |sh, _| doc::run(sh, &doc::Args { check: true })),
    step("examples", "cargo xtask examples", |sh, _| {
        examples::run(sh, &examples::Args { bless: false, name: None })
    }),
    step("package", "cargo xtask package", |sh, _| {
        package::run(sh, &package::Args::from_environment())
    }),
    step("bench smoke", "cargo xtask bench --smoke", |sh, _| {
        bench::run(sh, &bench::Args { smoke: true, filter: None })
    }),
];

/// Run the steps in order, and stop at the first that fails.
///
/// The last line on standard output counts the tests.
/// # Errors
/// Names the step that failed and the command to repeat it.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let mut tally = Tally::default();
    let mut durations: Vec<(&str, Duration)> = Vec::new();
    let mut failed = None;
    let slow: &[Step] = if args.fast { &[] } else { SLOW };
    for step in FAST.iter().chain(slow) {
        eprintln!("\n=== {}", step.name);
        let start = Instant::now();
        let outcome = (step.run)(sh, &mut tally);
        let took = start.elapsed();
        durations.push((step.name, took));
        eprintln!("=== {}: {:.1} s", step.name, took.as_secs_f64());
        if let Err(error) = outcome {
            failed = Some((step, error));
            break;
        }
    }
    eprintln!();
    for (name, took) in &durations {
        eprintln!("{name:>20} {:>8.1} s", took.as_secs_f64());
    }
    if let Some((step, error)) = &failed {
        eprintln!("\n{} failed: {error:#}\nto repeat it: {}", step.name, step.repeat);
    }
    println!("{tally}");
    match failed {
        Some((step, _)) => bail!("ci stopped at {}", step.name),
        None => Ok(()),
    }
}
