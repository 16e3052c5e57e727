//! The engines, side by side.

mod casbin;
mod cedar;
mod weaver_engine;
mod rego;

use std::hint::black_box;
use std::time::Duration;

use weaver_benches::Failure;
use weaver_benches::scenario::{Answer, Scenario};

use crate::measure::{self, micros, millis};

/// Something that has read the rules of a scenario and answers its calls by their place.
pub trait Engine {
    /// The answer to a call.
    fn answer(&mut self, call: usize) -> Result<Answer, Failure>;
}

/// An engine that is ready, and the time that reading the rules took.
pub struct ReadyEngine<'a> {
    engine: Box<dyn Engine + 'a>,
    load: Duration,
}

type Reader = for<'a> fn(&'a Scenario) -> Result<ReadyEngine<'a>, Failure>;

/// The first is the one that others are compared with.
const ENGINES: [(&str, Reader); 5] = [
    ("weaver-policy", weaver_engine::read),
    ("cedar-policy 4.14.1", cedar::read),
    ("regorus 0.14.1, rules as data", rego::read_data),
    ("regorus 0.14.1 RVM, rules as code", rego::read_code),
    ("casbin 2.20.0, two enforcers", casbin::read),
];

/// An answer within this time is a fast one.
const FAST: Duration = Duration::from_micros(100);
/// How many calls a fast engine answers between two readings of the clock.
const TOGETHER: usize = 32;

/// How much to do.
pub struct Effort {
    /// The numbers of rules.
    pub counts: &'static [usize],
    /// The time for one engine to answer calls, once to compare and once to measure.
    pub budget: Duration,
    /// The most measured answers of one engine.
    pub samples: usize,
}

impl Effort {
    /// Everything.
    pub const FULL: Self = Self {
        counts: &[10, 100, 1_000, 10_000],
        budget: Duration::from_millis(1_500),
        samples: 20_000,
    };
    /// Enough to see that it works.
    pub const SMOKE: Self =
        Self { counts: &[10, 100], budget: Duration::from_millis(100), samples: 500 };
}

/// Compares and measures all engines; false when an answer differs or ours fails.
pub fn run(effort: &Effort) -> Result<bool, Failure> {
    let mut good = true;
    for count in effort.counts {
        let scenario = Scenario::new(*count);
        let wanted: Vec<Answer> = scenario.calls.iter().map(|call| scenario.answer(call)).collect();
        let of = |answer| wanted.iter().filter(|wanted| **wanted == answer).count();
        println!(
            "\n{count} rules, {} calls: {} allowed, {} to approve, {} denied",
            wanted.len(),
            of(Answer::Allow),
            of(Answer::Approve),
            of(Answer::Deny)
        );
        println!(
            "{:<36}{:>12}{:>12}{:>12}{:>10}{:>10}",
            "engine", "median µs", "× ours", "load ms", "compared", "differ"
        );
        let mut ours = None;
        for (name, read) in ENGINES {
            match row(read, &scenario, &wanted, effort) {
                Ok(row) => {
                    good &= row.differing == 0;
                    let base = *ours.get_or_insert(row.median);
                    let times = micros(row.median) / micros(base).max(0.001);
                    println!(
                        "{name:<36}{:>12.2}{times:>12.1}{:>12.1}{:>10}{:>10}",
                        micros(row.median),
                        millis(row.load),
                        row.compared,
                        row.differing
                    );
                }
                Err(error) => {
                    // A limit of another engine is no fault of ours.
                    good &= ours.is_some();
                    println!("{name:<36}does not: {error}");
                }
            }
        }
    }
    println!(
        "\nTimes are processor time of the one thread; that of reading the clock is taken off. \
         Fast engines answer {TOGETHER} calls between two readings."
    );
    Ok(good)
}

struct Row {
    median: Duration,
    load: Duration,
    compared: usize,
    differing: usize,
}

fn row(
    read: Reader,
    scenario: &Scenario,
    wanted: &[Answer],
    effort: &Effort,
) -> Result<Row, Failure> {
    let ReadyEngine { mut engine, load } = read(scenario)?;
    let (mut compared, mut differing) = (0, 0);
    let start = measure::now();
    for (place, wanted) in wanted.iter().enumerate() {
        if engine.answer(place)? != *wanted {
            differing += 1;
        }
        compared += 1;
        if measure::now() - start > effort.budget {
            break;
        }
    }
    let median = typical(engine.as_mut(), wanted.len(), effort)?;
    Ok(Row { median, load, compared, differing })
}

/// The median time of an answer. Reading the clock takes as long as a fast answer and leaves cold
/// caches behind, so a fast engine answers several different calls between two readings.
fn typical(engine: &mut dyn Engine, calls: usize, effort: &Effort) -> Result<Duration, Failure> {
    let mut places = (0..calls).cycle();
    let (_, first) = measure::timed(|| engine.answer(0));
    let together = if first < FAST { TOGETHER } else { 1 };
    let mut times = Vec::with_capacity(effort.samples);
    let start = measure::now();
    while times.len() < effort.samples && measure::now() - start <= effort.budget {
        let (answered, time) = measure::timed(|| -> Result<(), Failure> {
            for place in places.by_ref().take(together) {
                black_box(engine.answer(black_box(place))?);
            }
            Ok(())
        });
        answered?;
        let parts = u32::try_from(together).unwrap_or(1);
        times.push(time.saturating_sub(measure::overhead_once()) / parts);
    }
    Ok(measure::median(times))
}
