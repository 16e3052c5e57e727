//! How long a second process that opens a ledger waits for the name of the first.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::{Durability, Ledger, LedgerError};

use crate::callers::ledger;
use crate::round::{Failure, Size, Target, batch, folder, judge};

/// The argument that makes this program the first process.
pub(crate) const HOLD: &str = "--hold";

/// The first process: holds the ledger and appends until its standard input ends.
pub(crate) fn hold(folder: &Path) -> Result<(), Failure> {
    let ledger = ledger(folder)?;
    println!("held");
    let ended = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let mut number = 0;
    while !ended.is_finished() {
        ledger.commit(batch(number, 1, Durability::Disk)).wait()?;
        number += 1;
    }
    Ok(())
}

/// Measures; gives how many targets were missed.
pub(crate) fn run(size: &Size) -> Result<usize, Failure> {
    let folder = folder()?;
    let mut first = Command::new(std::env::current_exe()?)
        .arg(HOLD)
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let out = first.stdout.take().ok_or("no output of the first process")?;
    BufReader::new(out).read_line(&mut String::new())?;
    let name = format!("process {} ", first.id());
    let mut worst = Vec::new();
    for _ in 0..size.rounds {
        let mut longest = 0.0_f64;
        for _ in 0..100 / size.part.min(10) {
            let start = Instant::now();
            let opened =
                SqliteLedger::open(folder.path().join("ledger.db"), OpenOptions::default());
            longest = longest.max(start.elapsed().as_secs_f64() * 1e3);
            match opened {
                Err(LedgerError::Locked { holder, .. }) if holder.contains(&name) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => return Err("two processes hold one ledger".into()),
            }
        }
        worst.push(longest);
    }
    drop(first.stdin.take());
    first.wait()?;
    let name = "ms until a second opener has the first one's name, worst";
    Ok(judge(size, &Target { name, bound: 1_000.0, most: true }, &mut worst))
}
