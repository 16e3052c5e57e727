//! `weaver catalog`: catalogs of tools, read from files in several formats.

pub(super) mod args;
mod convert;
mod diff;
mod item_change;
mod lint;
mod search;
mod skills;
mod snapshot;
pub(super) mod source;
mod suspicious_text;
pub(super) mod table;

use super::{Exit, Failure, output};
use args::Catalog as Args;

pub(super) fn run(args: Args) -> Result<Exit, Failure> {
    match args {
        Args::Lint(args) => lint::run(&args),
        Args::Snapshot(args) => snapshot::run(&args),
        Args::Diff(args) => diff::run(&args),
        Args::Convert(args) => convert::run(&args),
        Args::Search(args) => search::run(&args),
    }
}
