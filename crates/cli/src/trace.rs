//! `weaver trace`: reads, verifies and exports the log.

pub(super) mod args;
mod checkpoint;
mod conflict;
mod event;
mod export;
mod head;
mod index;
mod key;
pub(super) mod last_day;
mod list;
mod log;
mod observed_decisions;
mod progress;
pub(super) mod proof_args;
mod prove;
mod prune;
mod receipt;
mod runs;
mod stats;
mod synced_head;
mod trust_files;
mod verify;
mod why;
mod writable_ledger;

use std::path::Path;

use weaver_agent_kernel::{KernelError, RunComparison};
use weaver_trace_store::Reader;

use self::observed_decisions::ObservedDecisions;
use super::args::{TraceArgs, TraceCommand};
use super::{Exit, Failure};

pub(super) fn run(args: TraceArgs) -> Result<Exit, Failure> {
    let Some(command) = args.command else {
        return last_day::run(
            &args.config,
            args.store.as_deref(),
            &args.terms,
            args.output.format(),
        );
    };
    match command {
        TraceCommand::List(args) => list::run(&args),
        TraceCommand::Show(args) => why::show(&args),
        TraceCommand::Why(args) => why::run(&args),
        TraceCommand::Tail(args) => list::tail(&args),
        TraceCommand::Stats(args) => stats::run(&args),
        TraceCommand::Export(args) => export::run(&args),
        TraceCommand::Index(args) => index::run(&args),
        TraceCommand::Head(args) => head::run(&args),
        TraceCommand::Verify(args) => verify::run(&args),
        TraceCommand::Checkpoint(args) => checkpoint::run(&args),
        TraceCommand::Key(args) => key::run(&args),
        TraceCommand::Prove(args) => prove::run(&args),
        TraceCommand::Prune(args) => prune::run(&args),
    }
}

/// Compares the stored states of all runs with the log.
pub(super) fn compare_runs_with_log(reader: &Reader) -> Result<RunComparison, KernelError> {
    runs::compare(reader, &mut ObservedDecisions::default())
}

/// Opens a ledger for reading, while another process may write it.
fn open_ledger(store: &Path) -> Result<Reader, Failure> {
    if !store.is_file() {
        let message = format!("{}: there is no such file", store.display());
        return Err(Failure::new(Exit::Store, "trace.no_store", message).with_next_step(
            "name the ledger: `path` under `[store]`, `.weaver/ledger.db` unless set",
        ));
    }
    Reader::open(store).map_err(|error| Failure::store(store, &error))
}
