//! The speed of tokens, grants and calls, with few and with many of them before; one JSON object.
//!
//! `cargo xtask speed kernel` runs this beside agent-kernel (Python) and prints the table. Times
//! are processor time, so that other processes do not count.

mod growth;
mod rows;
mod token;

use std::process::ExitCode;

use mimalloc::MiMalloc;
use serde_json::json;
use weaver_benches::Failure;
use weaver_benches::kernel::Desk;
use weaver_benches::measure::{micros, prepared_micros};

/// The allocator of the `weaver` command.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// How often, and how much before.
#[derive(Debug, Clone, Copy)]
struct Effort {
    batches: usize,
    /// Calls until all stores are at their caps.
    fill: usize,
    /// Calls of one run.
    calls: usize,
    /// Calls with many rows.
    row_calls: usize,
}

const FULL: Effort = Effort { batches: 25, fill: 11_000, calls: 100_000, row_calls: 100 };
const SMOKE: Effort = Effort { batches: 3, fill: 300, calls: 1_000, row_calls: 3 };
/// Calls of one batch.
const BATCH: usize = 50;

fn measured(effort: &Effort) -> Result<serde_json::Value, Failure> {
    Ok(json!({
        "token": token::times(effort)?,
        "grant_us": grant(effort)?,
        "grant_invoke_us": grant_invoke(effort)?,
        "caps": growth::at_caps(effort)?,
        "run": growth::one_run(effort)?,
    }))
}

fn grant(effort: &Effort) -> Result<f64, Failure> {
    let desk = Desk::new()?;
    Ok(micros(effort.batches, BATCH, || assert!(desk.grant().token.is_some())))
}

fn grant_invoke(effort: &Effort) -> Result<f64, Failure> {
    let desk = Desk::new()?;
    Ok(calls(&desk, effort.batches))
}

/// Microseconds of a call. Results are laid out before, as the peer's are.
fn calls(desk: &Desk, batches: usize) -> f64 {
    prepared_micros(batches, BATCH, || desk.lay_out(BATCH), || succeeds(desk))
}

/// A grant and its invocation.
fn succeeds(desk: &Desk) {
    let done = desk.grant_and_invoke().and_then(|done| done.result);
    assert!(done.is_some_and(|result| result.success));
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => println!("{}", measured(&FULL)?),
        ["--smoke"] => println!("{}", measured(&SMOKE)?),
        ["token"] => println!("{}", token::times(&FULL)?),
        ["grant"] => println!("{}", grant(&FULL)?),
        ["grant_invoke"] => println!("{}", grant_invoke(&FULL)?),
        ["caps"] => println!("{}", growth::at_caps(&FULL)?),
        ["rows"] => println!("{}", rows::times(&FULL)?),
        ["rows", "--smoke"] => println!("{}", rows::times(&SMOKE)?),
        ["run"] => println!("{}", growth::one_run(&FULL)?),
        ["spin", what, count] => spin(what, count.parse()?)?,
        _ => return Err("write `--smoke`, the name of one part, or nothing".into()),
    }
    Ok(())
}

/// So many calls and nothing else, for a profiler; on a ledger in a file where that is asked for.
fn spin(what: &str, count: usize) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let desk = match what {
        "file" => growth::on_file(folder.path())?,
        _ => Desk::new()?,
    };
    for _ in 0..count {
        match what {
            "grant" => assert!(desk.grant().token.is_some()),
            _ => succeeds(&desk),
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    weaver_benches::exit_code(run(&arguments))
}
