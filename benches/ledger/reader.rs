//! What a reader that polls all the time costs the writer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weaver_trace_store::Reader;

use crate::callers::{callers, ledger};
use crate::round::{Failure, Size, Target, folder, judge, rate};

/// Between two looks of the reader.
const PAUSE: Duration = Duration::from_millis(1);

/// Measures; gives how many targets were missed.
pub(crate) fn run(size: &Size) -> Result<usize, Failure> {
    let mut ratios = Vec::new();
    let each = 400 / size.part.min(100);
    for _ in 0..size.rounds {
        let folder = folder()?;
        let alone = rate(64 * each, callers(&ledger(folder.path())?, 64, each)?);
        let ledger = ledger(folder.path())?;
        let reader = Reader::open(folder.path().join("ledger.db"))?;
        let stop = AtomicBool::new(false);
        let (read, beside) = std::thread::scope(|scope| {
            let polling = scope.spawn(|| {
                let mut seen = 0;
                while !stop.load(Ordering::Relaxed) {
                    match reader.events(seen, 256) {
                        Ok(page) => seen += page.len() as u64,
                        Err(_) => return None,
                    }
                    std::thread::sleep(PAUSE);
                }
                Some(seen)
            });
            let time = callers(&ledger, 64, each);
            stop.store(true, Ordering::Relaxed);
            (polling.join().ok().flatten(), time)
        });
        read.ok_or("the reader failed")?;
        ratios.push(rate(64 * each, beside?) / alone);
    }
    let name = "64 callers beside a polling reader / without one";
    Ok(judge(size, &Target { name, bound: 0.9, most: false }, &mut ratios))
}
