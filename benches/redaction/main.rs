//! The speed of redaction; one JSON object.
//!
//! `cargo xtask speed redaction` runs this beside agent-kernel (Python), with the calls with many rows
//! of `kernel-speed`, and prints the table.
//! Times are processor time, so that other processes do not count.

mod engine;
mod memory;

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use weaver_benches::{Failure, records};

/// How much text, and how often.
#[derive(Debug, Clone, Copy)]
struct Effort {
    bytes: usize,
    hostile: usize,
    runs: usize,
}

const FULL: Effort = Effort { bytes: 5_000_000, hostile: 10_000_000, runs: 5 };
const SMOKE: Effort = Effort { bytes: 200_000, hostile: 200_000, runs: 1 };

fn run(arguments: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["memory", kind, bytes] => println!("{}", memory::own(kind, bytes.parse()?)?),
        ["workloads", folder] => write(Path::new(folder))?,
        [] => println!("{}", measured(&FULL)?),
        ["--smoke"] => println!("{}", measured(&SMOKE)?),
        _ => return Err("write `workloads DIR`, `memory KIND BYTES`, `--smoke` or nothing".into()),
    }
    Ok(())
}

fn measured(effort: &Effort) -> Result<serde_json::Value, Failure> {
    Ok(json!({
        "engine": engine::speeds(effort)?,
        "hostile": engine::hostile(effort),
        "memory": memory::children(effort)?,
    }))
}

/// The inputs that a peer reads.
fn write(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("text5mb.txt"), records::mixed(FULL.bytes))?;
    std::fs::write(folder.join("people.json"), records::people().to_string())?;
    std::fs::write(folder.join("orders.json"), records::orders().to_string())?;
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    weaver_benches::exit_code(run(&arguments))
}
