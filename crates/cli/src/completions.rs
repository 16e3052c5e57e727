//! `weaver completions`.

use clap_complete::Shell;

use super::{Exit, Failure, output};

pub(super) fn run(shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::help::command(), "weaver", &mut script);
    output::text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
