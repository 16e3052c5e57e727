//! `weaver kernel`: shows what the kernel of a configured gateway knows.

pub(super) mod args;
mod info;
mod namespaces;
mod tools;

use super::{Exit, Failure, output};
use args::Kernel as Args;

pub(super) fn run(args: Args) -> Result<Exit, Failure> {
    match args {
        Args::Info(args) => info::run(&args),
        Args::Namespaces(args) => namespaces::run(&args),
        Args::Tools(args) => tools::run(&args),
    }
}
