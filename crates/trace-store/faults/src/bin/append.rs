//! `append PATH SESSIONS BATCHES [PAUSE]`: opens the ledger so often, appends so many batches of the
//! story each time, and says each acknowledgement in a line. After PAUSE batches it waits a moment,
//! so that the ledger does what it does when nothing comes. When the ledger fails, it says
//! `failed CODE MESSAGE`, makes sure that it stays closed, and ends with status 3.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use weaver_faults::story::{self, Acknowledged};
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::{Batch, BlobStore, Durability, Ledger, LedgerError};

/// Longer than the ledger waits before it takes nothing for idle.
const PAUSE: Duration = Duration::from_millis(250);

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
            return Err(stays_closed(&ledger, error));
        }
        if pause.is_some_and(|pause| number + 1 == first + pause) {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(())
}

fn append(ledger: &SqliteLedger, number: u64) -> Result<(), LedgerError> {
    let receipt = story::append(ledger, number)?;
    say(&Acknowledged::new(number, story::level(number), &receipt).line());
    if story::is_before_barrier(number) {
        let receipt = ledger.commit(Batch::new(Durability::Disk)).wait()?;
        say(&Acknowledged::new(number, Durability::Disk, &receipt).line());
    }
    Ok(())
}

/// After a failure nothing is taken any more, whatever it is.
fn stays_closed(ledger: &SqliteLedger, error: LedgerError) -> LedgerError {
    for durability in [Durability::Os, Durability::Disk] {
        let later = ledger.commit(Batch::new(durability)).wait();
        if !matches!(later, Err(LedgerError::Failed(_))) {
            say(&format!("open after `{error}`: {later:?}"));
        }
    }
    if !matches!(ledger.blobs().put(b"later"), Err(LedgerError::Failed(_))) {
        say(&format!("takes blobs after `{error}`"));
    }
    error
}

/// One whole line, in one write.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush());
}
