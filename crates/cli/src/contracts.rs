//! `weaver contracts`: compares what servers say of their tools with what was approved.

mod approve;
pub(super) mod args;
mod diff;
mod document;
mod ledger;
mod list;
pub(super) mod live_tools;
mod mismatches;
mod propose;
mod snapshot;
mod text_changes;
mod tool_contract_status;

use super::{Exit, Failure, output};
use args::Contracts as Args;

pub(super) fn run(args: Args) -> Result<Exit, Failure> {
    match args {
        Args::List(args) => list::run(&args),
        Args::Snapshot(args) => snapshot::run(&args),
        Args::Mismatches(args) => mismatches::run(&args),
        Args::Approve(args) => approve::run(&args),
        Args::Diff(args) => diff::run(&args),
        Args::Propose(args) => propose::run(&args),
    }
}
