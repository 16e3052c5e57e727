//! `append PATH SESSIONS BATCHES [PAUSE]`: opens the ledger so often, appends so many batches of the
//! story each time, and says each acknowledgement in a line. After PAUSE batches it waits a moment,
//! so that the ledger does what it does when nothing comes. What is refused is tried again a few
//! times. When that does not help, or the ledger fails, it says `failed CODE MESSAGE`, makes sure that
//! it stays closed, and ends with status 3.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use weaver_faults::story::{self, Acknowledgement};
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::{Batch, BlobStore, Durability, Ledger, LedgerError};

/// Longer than the ledger waits before it takes nothing for idle.
const PAUSE: Duration = Duration::from_millis(250);
/// How often a batch that is refused is tried.
const TRIES: usize = 12;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, numbers @ ..] = arguments.as_slice() else { return ExitCode::from(2) };
    let numbers: Vec<u64> = numbers.iter().filter_map(|number| number.parse().ok()).collect();
    let [sessions, batches, pause @ ..] = numbers.as_slice() else { return ExitCode::from(2) };
    for _ in 0..*sessions {
        if let Err(error) = session(path, *batches, pause.first().copied()) {
            say(&format!("failed {} {error}", error.code()));
            return ExitCode::from(3);
        }
    }
    say("done");
    ExitCode::SUCCESS
}

fn session(path: &str, batches: u64, pause: Option<u64>) -> Result<(), LedgerError> {
    let ledger = SqliteLedger::open(path, OpenOptions::default())?;
    let first = ledger.head()?.size;
    for number in first..first + batches {
        if let Err(error) = append(&ledger, number) {
            return Err(stays_closed(&ledger, number, error));
        }
        if pause.is_some_and(|pause| number + 1 == first + pause) {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(())
}

fn append(ledger: &SqliteLedger, number: u64) -> Result<(), LedgerError> {
    let receipt = patiently(|| story::append(ledger, number))?;
    say(&Acknowledgement::new(number, story::level(number), &receipt).line());
    if story::is_before_barrier(number) {
        let receipt = patiently(|| ledger.commit(Batch::new(Durability::Disk)).wait())?;
        say(&Acknowledgement::new(number, Durability::Disk, &receipt).line());
    }
    Ok(())
}

/// Tries again while the ledger refuses.
fn patiently<T>(mut attempt: impl FnMut() -> Result<T, LedgerError>) -> Result<T, LedgerError> {
    let mut done = attempt();
    for _ in 1..TRIES {
        match &done {
            Err(error) if error.is_refusal() => done = attempt(),
            _ => break,
        }
    }
    done
}

/// After a failure nothing is taken any more, whatever it is; and nothing while the disk is full.
fn stays_closed(ledger: &SqliteLedger, number: u64, error: LedgerError) -> LedgerError {
    let closed = |later: &LedgerError| match error.is_refusal() {
        true => later.is_refusal(),
        false => matches!(later, LedgerError::Failed(_)),
    };
    for durability in [Durability::Os, Durability::Disk] {
        let later = ledger.commit(Batch { durability, ..story::batch(number, None) }).wait();
        if !later.as_ref().is_err_and(closed) {
            say(&format!("open after `{error}`: {later:?}"));
        }
    }
    if !ledger.blobs().put(b"later").as_ref().is_err_and(closed) {
        say(&format!("takes blobs after `{error}`"));
    }
    error
}

/// One whole line, in one write.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush());
}
