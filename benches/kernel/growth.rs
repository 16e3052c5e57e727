//! Calls with much before them: all stores at their caps, and one run that goes on.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use weaver_benches::Failure;
use weaver_benches::kernel::{Desk, few};
use weaver_trace_store::{OpenOptions, SqliteLedger};

use crate::{BATCH, Effort, calls, succeeds};

/// Microseconds of a call on a fresh kernel, and once every store is full and each call removes
/// what is oldest.
pub fn at_caps(effort: &Effort) -> Result<Value, Failure> {
    let desk = Desk::new()?;
    let fresh = calls(&desk, effort.batches);
    (0..effort.fill).for_each(|_| succeeds(&desk));
    let full = calls(&desk, effort.batches);
    Ok(json!({ "fresh_us": fresh, "full_us": full, "ratio": full / fresh }))
}

/// Calls of one run on a ledger in a file: time and memory of the first tenth, and of the last.
/// The memory is looked at from the middle on: by then all stores are full, and the allocator and the
/// database have taken what they keep.
pub fn one_run(effort: &Effort) -> Result<Value, Failure> {
    let folder = tempfile::tempdir()?;
    let desk = on_file(folder.path())?;
    let tenth = effort.calls / 10;
    let batches = tenth / BATCH;
    let mut parts = Vec::new();
    for _ in 0..10 {
        let time = calls(&desk, batches.saturating_sub(1).max(1));
        parts.push((time, resident()?));
    }
    let [(first, _), _, _, _, (_, early), .., (last, late)] = parts.as_slice() else {
        return Err("no calls".into());
    };
    Ok(json!({
        "calls": effort.calls,
        "first_tenth_us": first,
        "last_tenth_us": last,
        "ratio": last / first,
        "early_mb": early,
        "late_mb": late,
        "memory_ratio": late / early,
    }))
}

/// A kernel whose ledger lies in this folder.
pub fn on_file(folder: &Path) -> Result<Desk, Failure> {
    let ledger = SqliteLedger::open(folder.join("ledger.db"), OpenOptions::default())?;
    Desk::on(Arc::new(ledger), few())
}

/// The memory of this process in use, in megabytes.
fn resident() -> Result<f64, Failure> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kib / 1024.0)
}
