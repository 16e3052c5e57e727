//! `weaver trace`.

mod show;
mod verify;

use std::path::Path;

use weaver_trace_store::Reader;

use super::args::Trace;
use super::{Exit, Failure, output};

pub(super) fn run(args: Trace) -> Result<Exit, Failure> {
    match args {
        Trace::Show(args) => show::run(&args),
        Trace::Head { store } => head(&store),
        Trace::Verify { store, head, output } => verify::run(&store, head.as_deref(), output.json),
    }
}

fn head(store: &Path) -> Result<Exit, Failure> {
    let head = open(store)?.head().map_err(|error| Failure::store(store, &error))?;
    let text = serde_json::to_string(&head)
        .map_err(|error| Failure::new(Exit::Internal, "trace.head", error))?;
    output::line(&text)?;
    Ok(Exit::Ok)
}

/// Opens a ledger for reading, beside whoever writes it.
fn open(store: &Path) -> Result<Reader, Failure> {
    if !store.is_file() {
        let message = format!("{}: there is no such file", store.display());
        return Err(Failure::new(Exit::Store, "trace.no_store", message)
            .next("name the ledger: `path` under `[store]`, `ledger.db` unless set"));
    }
    Reader::open(store).map_err(|error| Failure::store(store, &error))
}
