//! `weaver memory`: reads and changes a durable memory file.

pub(super) mod args;
mod consolidate;
mod export;
mod forget;
mod get;
mod list;
mod paging;
mod put;
mod report;
mod resolve;
mod store;

use super::{Exit, Failure, output};
use args::Memory as Args;

pub(super) fn run(args: Args) -> Result<Exit, Failure> {
    match args {
        Args::List(args) => list::run(&args),
        Args::Get(args) => get::run(&args),
        Args::Put(args) => put::run(&args),
        Args::Forget(args) => forget::run(&args),
        Args::Resolve(args) => resolve::run(&args),
        Args::Consolidate(args) => consolidate::run(&args),
        Args::Export(args) => export::run(&args),
    }
}
