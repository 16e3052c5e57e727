//! `append PATH SESSIONS BATCHES [PAUSE]`: opens the ledger SESSIONS times, appends BATCHES batches
//! of the workload each time, and prints each acknowledgement in a line. After PAUSE batches it
//! waits until the ledger is idle, so that it runs its idle work. A refused batch is tried again a
//! few times. If that does not help, or the ledger fails, it prints `failed CODE MESSAGE`, checks
//! that the ledger stays closed, and ends with status 3.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use weaver_faults::workload::{self, Acknowledgement};
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::{Batch, BlobStore, Durability, Ledger, LedgerError};

/// Longer than the ledger waits for a batch before it counts as idle.
const PAUSE: Duration = Duration::from_millis(250);
/// How many times a refused batch is tried.
const TRIES: usize = 12;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, numbers @ ..] = arguments.as_slice() else { return ExitCode::from(2) };
    let numbers: Vec<u64> = numbers.iter().filter_map(|number| number.parse().ok()).collect();
    let [sessions, batches, pause @ ..] = numbers.as_slice() else { return ExitCode::from(2) };
    for _ in 0..*sessions {
        if let Err(error) = session(path, *batches, pause.first().copied()) {
            print_line(&format!("failed {} {error}", error.code()));
            return ExitCode::from(3);
        }
    }
    print_line("done");
    ExitCode::SUCCESS
}

fn session(path: &str, batches: u64, pause: Option<u64>) -> Result<(), LedgerError> {
    let ledger = SqliteLedger::open(path, OpenOptions::default())?;
    let first = ledger.head()?.size;
    for number in first..first + batches {
        if let Err(error) = append(&ledger, number) {
            return Err(check_stays_closed(&ledger, number, error));
        }
        if pause.is_some_and(|pause| number + 1 == first + pause) {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(())
}

fn append(ledger: &SqliteLedger, number: u64) -> Result<(), LedgerError> {
    let receipt = retry_refused(|| workload::append(ledger, number))?;
    print_line(&Acknowledgement::new(number, workload::durability_of(number), &receipt).line());
    if workload::is_before_barrier(number) {
        let receipt = retry_refused(|| ledger.commit(Batch::new(Durability::Disk)).wait())?;
        print_line(&Acknowledgement::new(number, Durability::Disk, &receipt).line());
    }
    Ok(())
}

/// Runs `attempt` again while the ledger refuses it.
fn retry_refused<T>(mut attempt: impl FnMut() -> Result<T, LedgerError>) -> Result<T, LedgerError> {
    let mut result = attempt();
    for _ in 1..TRIES {
        match &result {
            Err(error) if error.is_refusal() => result = attempt(),
            _ => break,
        }
    }
    result
}

/// Checks that a failed ledger accepts nothing any more, and a full one nothing for now. Returns
/// `error`.
fn check_stays_closed(ledger: &SqliteLedger, number: u64, error: LedgerError) -> LedgerError {
    let closed = |later: &LedgerError| match error.is_refusal() {
        true => later.is_refusal(),
        false => matches!(later, LedgerError::Failed(_)),
    };
    for durability in [Durability::Os, Durability::Disk] {
        let later = ledger.commit(Batch { durability, ..workload::batch(number, None) }).wait();
        if !later.as_ref().is_err_and(closed) {
            print_line(&format!("open after `{error}`: {later:?}"));
        }
    }
    if !ledger.blobs().put(b"later").as_ref().is_err_and(closed) {
        print_line(&format!("takes blobs after `{error}`"));
    }
    error
}

/// One whole line, in one write.
fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush());
}
