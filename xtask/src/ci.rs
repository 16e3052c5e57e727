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
    fast: bool,
    run: fn(&Shell, &mut Tally) -> Result<()>,
}

const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        repeat: "cargo xtask fmt --check",
        fast: true,
        run: |sh, _| fmt::run(sh, &fmt::Args { check: true }),
    },
    Step { name: "tidy", repeat: "cargo xtask tidy", fast: true, run: |sh, _| tidy::run(sh) },
    Step {
        name: "layers",
        repeat: "cargo xtask layers",
        fast: true,
        run: |sh, _| layers::run(sh, &layers::Args { metadata: None }),
    },
    Step {
        name: "dependencies",
        repeat: "cargo xtask dependencies",
        fast: true,
        run: |sh, _| dependencies::run(sh),
    },
    Step {
        name: "api",
        repeat: "cargo xtask api --check",
        fast: true,
        run: |sh, _| api::run(sh, &api::Args { check: true }),
    },
    Step { name: "clippy", repeat: "cargo xtask lint", fast: true, run: |sh, _| lint::run(sh) },
    Step {
        name: "tests",
        repeat: "cargo nextest run --workspace --all-features",
        fast: true,
        run: |sh, tally| test::nextest(sh, &[], tally),
    },
    Step {
        name: "crosscheck",
        repeat: "cargo xtask crosscheck",
        fast: false,
        run: |sh, _| crosscheck::run(sh),
    },
    Step {
        name: "no default features",
        repeat: "cargo xtask features",
        fast: false,
        run: |sh, _| features::run(sh, &features::Args { each: false }),
    },
    Step {
        name: "each feature",
        repeat: "cargo xtask features --each",
        fast: false,
        run: |sh, _| features::run(sh, &features::Args { each: true }),
    },
    Step {
        name: "doctests",
        repeat: "cargo test --doc --workspace --all-features",
        fast: false,
        run: test::doctests,
    },
    Step {
        name: "doc",
        repeat: "cargo xtask doc --check",
        fast: false,
        run: |sh, _| doc::run(sh, &doc::Args { check: true }),
    },
    Step {
        name: "examples",
        repeat: "cargo xtask examples",
        fast: false,
        run: |sh, _| examples::run(sh, &examples::Args { bless: false, name: None }),
    },
    Step {
        name: "package",
        repeat: "cargo xtask package",
        fast: false,
        run: |sh, _| package::run(sh, &package::Args::from_environment()),
    },
    Step {
        name: "bench smoke",
        repeat: "cargo xtask bench --smoke",
        fast: false,
        run: |sh, _| bench::run(sh, &bench::Args { smoke: true, filter: None }),
    },
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
    let steps = STEPS.iter().filter(|step| step.fast || !args.fast);
    for step in steps {
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

#[cfg(test)]
mod tests {
    use super::STEPS;

    #[test]
    fn the_fast_steps_come_first_and_in_order() {
        let fast: Vec<&str> = STEPS.iter().filter(|s| s.fast).map(|s| s.name).collect();
        assert_eq!(fast, ["fmt", "tidy", "layers", "dependencies", "api", "clippy", "tests"]);
        assert!(STEPS.iter().take(fast.len()).all(|step| step.fast));
    }

    #[test]
    fn every_step_has_a_command_to_repeat_it() {
        assert!(STEPS.iter().all(|step| step.repeat.starts_with("cargo ")));
    }
}
