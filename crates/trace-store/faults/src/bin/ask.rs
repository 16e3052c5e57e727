//! `ask PATH`: asks every question of a ledger, each with a reader of its own, and opens it for
//! writing in the end. Before each it says the number of the question in a line, so that a trace of
//! its calls says what each question reads. Then come the blobs, `blob` and their number, of one open
//! ledger, and `write` is what the writer is asked.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use weaver_faults::question::{self, Question};
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::ledger::BlobStore;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else { return ExitCode::from(2) };
    match ask(Path::new(&path)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error);
            ExitCode::FAILURE
        }
    }
}

fn ask(path: &Path) -> Result<(), String> {
    let open = || Reader::open(path).map_err(|error| error.to_string());
    let head = open()?.head().map_err(|error| error.to_string())?;
    let blobs = question::named(&open()?).map_err(|error| error.to_string())?;
    for (number, question) in Question::all(head.size).into_iter().enumerate() {
        say(&number.to_string());
        question.ask(&open()?)?;
    }
    say("open");
    let ledger = SqliteLedger::open(path, OpenOptions::default()).map_err(|e| e.to_string())?;
    for (number, (id, _)) in blobs.iter().enumerate() {
        say(&format!("blob {number}"));
        ledger.blobs().get(id).map_err(|error| error.to_string())?;
    }
    drop(ledger);
    say("write");
    match question::write(path, &blobs, &head)? {
        Some(other) => Err(other),
        None => Ok(()),
    }
}

/// One whole line, in one write.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush());
}
