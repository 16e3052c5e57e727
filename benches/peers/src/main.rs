//! One set of rules and one stream of calls, decided by `PolicySet::decide` and by other engines
//! in one process, with every answer compared with a plain reading of the rules.
//!
//! `cargo xtask peers` runs this; without arguments it does everything.

mod approval;
mod engine;
mod limits;
mod load;
mod measure;

use std::process::ExitCode;

use weaver_benches::Failure;

use engine::Effort;

/// Everything that was asked for; false where something is not as it must be.
fn run(arguments: &[String]) -> Result<bool, Failure> {
    let (mut smoke, mut only_limits) = (false, false);
    for argument in arguments {
        match argument.as_str() {
            "--smoke" => smoke = true,
            "--limits" => only_limits = true,
            other => return Err(format!("unknown argument `{other}`").into()),
        }
    }
    if only_limits {
        return limits::run();
    }
    let effort = if smoke { Effort::SMOKE } else { Effort::FULL };
    let mut good = engine::run(&effort)?;
    good &= load::run(&effort)?;
    good &= approval::run(&effort)?;
    Ok(good)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
