//! The `weaver` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    weaver_gateway::cli::main()
}
