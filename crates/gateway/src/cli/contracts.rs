//! `weaver contracts`: what servers say of their tools, beside what was approved of them.

pub(super) mod args;
mod list;
mod live;
mod propose;
mod standing;

use super::{Exit, Failure, output};
use args::Contracts as Args;

pub(super) fn run(args: Args) -> Result<Exit, Failure> {
    match args {
        Args::List(args) => list::run(&args),
        Args::Propose(args) => propose::run(&args),
    }
}
