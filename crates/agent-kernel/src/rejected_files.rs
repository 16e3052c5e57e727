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
pub(crate) struct RejectedFiles(Mutex<RecentRejections>);

#[derive(Default)]
struct RecentRejections {
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

#[cfg(test)]
mod tests {
    use weaver_types::digest::Tag;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

    fn file(n: usize) -> Digest {
        Digest::of(Tag::COMMIT, n.to_string().as_bytes())
    }

    #[test]
    fn the_same_file_is_recorded_once() {
        let seen = RejectedFiles::default();
        assert_eq!(seen.count(file(1), NOW), Some(0));
        assert_eq!(seen.count(file(1), NOW.after(SPAN * 9)), None);
        assert_eq!(seen.count(file(2), NOW.after(SPAN * 9)), Some(0), "nothing was left out");
    }

    #[test]
    fn in_a_minute_64_are_recorded_and_the_rest_is_told_with_the_next() {
        let seen = RejectedFiles::default();
        for n in 0..64 {
            assert_eq!(seen.count(file(n), NOW), Some(0), "{n}");
        }
        let last = NOW.after(Duration::from_micros(59_999_999));
        for n in 64..67 {
            assert_eq!(seen.count(file(n), last), None, "{n}");
        }
        assert_eq!(seen.count(file(67), NOW.after(SPAN)), Some(3));
        for n in 68..131 {
            assert_eq!(seen.count(file(n), NOW.after(SPAN)), Some(0), "{n}");
        }
        assert_eq!(seen.count(file(131), NOW.after(SPAN)), None, "the minute began anew");
    }

    #[test]
    fn the_last_4_096_files_are_known_again() {
        let seen = RejectedFiles::default();
        for n in 0..4_096 {
            seen.count(file(n), NOW);
        }
        assert_eq!(seen.0.lock().unwrap().known.len(), 4_096);
        seen.count(file(4_096), NOW);
        assert_eq!(seen.0.lock().unwrap().known.len(), 1);
        assert_eq!(seen.count(file(4_096), NOW.after(SPAN)), None);
        assert!(seen.count(file(0), NOW.after(SPAN)).is_some());
    }
}
