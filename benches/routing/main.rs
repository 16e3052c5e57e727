//! How good and how fast routing is; one JSON object.
//!
//! `cargo xtask eval routing` and `cargo xtask speed routing` run this and print the tables.

mod corpus;
mod evaluate;
mod score;

use std::process::ExitCode;

use weaver_benches::Failure;

const USAGE: &str = "usage: routing eval DIR [--set NAME]... [--examples N]... [--no-table]";

fn run(arguments: &[String]) -> Result<serde_json::Value, Failure> {
    match arguments.split_first() {
        Some((verb, rest)) if verb == "eval" => evaluate::run(&evaluate::Args::parse(rest)?),
        _ => Err(USAGE.into()),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(found) => {
            println!("{found}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
