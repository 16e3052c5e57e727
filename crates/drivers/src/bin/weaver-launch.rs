//! A standalone launcher for hosts without the `weaver` program: see `weaver_drivers::confine`.

use std::process::ExitCode;

fn main() -> ExitCode {
    weaver_drivers::confine::launch(std::env::args_os().skip(1))
}
