//! Signed files that were rejected of late, so that a flood of them does not flood the log.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use weaver_types::Timestamp;
use weaver_types::digest::Digest;

/// How many rejections are recorded one by one within [`SPAN`]; the rest are counted.
const MAX_RECORDED: u32 = 64;
/// The span of that count.
const SPAN: Duration = Duration::from_secs(60);
/// How many rejected files are known again.
const MAX_KNOWN: usize = 4_096;

/// Rejected files of late, so that a flood of them does not flood the log.
#[derive(Default)]
pub(crate) struct RejectedFiles(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    known: BTreeSet<Digest>,
    since: Timestamp,
    recorded: u32,
    not_recorded: u64,
}

impl RejectedFiles {
    /// Whether this one is recorded, and how many were not before it.
    pub(crate) fn count(&self, file: Digest, now: Timestamp) -> Option<u64> {
        let mut seen = self.0.lock().ok()?;
        if seen.known.len() >= MAX_KNOWN {
            seen.known.clear();
        }
        if !seen.known.insert(file) {
            return None;
        }
        if now.since(seen.since) >= SPAN {
            (seen.since, seen.recorded) = (now, 0);
        }
        if seen.recorded >= MAX_RECORDED {
            seen.not_recorded = seen.not_recorded.saturating_add(1);
            return None;
        }
        seen.recorded += 1;
        Some(std::mem::take(&mut seen.not_recorded))
    }
}
