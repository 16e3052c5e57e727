//! `query PATH`: runs every query on a ledger, each with a reader of its own. Before each it prints
//! the number of the query in a line, so that a trace of its calls shows what each query reads.
//! Then it reads the blobs from one open ledger, each after the line `blob NUMBER`, and after the
//! line `write` it opens the ledger for writing, appends and verifies.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use weaver_faults::query::{self, Query};
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::ledger::BlobStore;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else { return ExitCode::from(2) };
    match run_all(Path::new(&path)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_line(&error);
            ExitCode::FAILURE
        }
    }
}

fn run_all(path: &Path) -> Result<(), String> {
    let open = || Reader::open(path).map_err(|error| error.to_string());
    let head = open()?.head().map_err(|error| error.to_string())?;
    let blobs = query::referenced_blobs(&open()?).map_err(|error| error.to_string())?;
    for (number, query) in Query::all(head.size).into_iter().enumerate() {
        print_line(&number.to_string());
        query.run(&open()?)?;
    }
    print_line("open");
    let ledger = SqliteLedger::open(path, OpenOptions::default()).map_err(|e| e.to_string())?;
    for (number, (id, _)) in blobs.iter().enumerate() {
        print_line(&format!("blob {number}"));
        ledger.blobs().get(id).map_err(|error| error.to_string())?;
    }
    drop(ledger);
    print_line("write");
    match query::append_and_verify(path, &blobs, &head)? {
        Some(other) => Err(other),
        None => Ok(()),
    }
}

/// One whole line, in one write.
fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush());
}
