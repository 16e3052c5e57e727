//! Verification against SHA-256 over the same bytes, one thread.

use std::hint::black_box;

use sha2::{Digest as _, Sha256};
use weaver_trace_store::verify::verify;
use weaver_types::ledger::{Durability, Ledger};

use crate::callers::ledger;
use crate::round::{Failure, Size, Target, batch, folder, judge, processor};

const EVENTS: u64 = 100_000;

/// Measures; gives how many targets were missed.
pub(crate) fn run(size: &Size) -> Result<usize, Failure> {
    let folder = folder()?;
    let ledger = ledger(folder.path())?;
    let events = EVENTS / size.part as u64;
    for n in 0..events / 500 {
        ledger.commit(batch(n * 500, 500, Durability::Os)).wait()?;
    }
    let mut rows = Vec::new();
    while let Some(page) = Some(ledger.events(rows.len() as u64, 1_000)?).filter(|p| !p.is_empty())
    {
        rows.extend(page);
    }
    let mut ratios = Vec::new();
    for _ in 0..size.rounds {
        let start = processor();
        for row in &rows {
            let mut hash = Sha256::new();
            hash.update(&row.header);
            hash.update(row.salt.as_deref().unwrap_or_default());
            hash.update(row.payload.as_deref().unwrap_or_default());
            black_box(hash.finalize());
        }
        let bare = processor() - start;
        let start = processor();
        let report = verify(&ledger, None)?;
        let ours = processor() - start;
        if report.head.size != rows.len() as u64 {
            return Err("events are missing".into());
        }
        ratios.push(bare.as_secs_f64() / ours.as_secs_f64());
    }
    let target = Target { name: "verify / SHA-256 over the same bytes", bound: 0.2, most: false };
    Ok(judge(size, &target, &mut ratios))
}
