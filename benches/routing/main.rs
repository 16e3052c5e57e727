//! How good and how fast routing is; one JSON object.
//!
//! `cargo xtask eval routing` and `cargo xtask speed routing` run this and print the tables.

mod corpus;
mod evaluate;
mod logistic;
mod missed_requests;
mod risk;
mod score;
mod set_variants;
mod speed;
mod walk;

use std::process::ExitCode;

use weaver_benches::Failure;

const USAGE: &str = "usage: routing eval DIR [--set NAME]... [--examples N]... [--no-table]
       routing missed DIR [--set NAME]... [--searches] [--list N] [--word-table FILE]
       routing speed [--smoke] [--data DIR] [--size N]...
       routing workloads FOLDER [--smoke] [--data DIR] [--size N]...";

fn run(arguments: &[String]) -> Result<serde_json::Value, Failure> {
    match arguments.split_first() {
        Some((verb, rest)) if verb == "eval" => evaluate::run(&evaluate::Args::parse(rest)?),
        Some((verb, rest)) if verb == "missed" => {
            missed_requests::run(&missed_requests::Args::parse(rest)?)
        }
        Some((verb, rest)) if verb == "speed" => speed::run(&speed::Args::parse(rest)?),
        Some((verb, [folder, rest @ ..])) if verb == "workloads" => {
            speed::workloads(folder.as_ref(), &speed::Args::parse(rest)?)
        }
        _ => Err(USAGE.into()),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    weaver_benches::exit_code(run(&arguments).map(|found| println!("{found}")))
}
