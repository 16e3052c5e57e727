//! Remembers rejected signed files, so that a flood of them does not flood the log.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use weaver_types::Timestamp;
use weaver_types::digest::Digest;

/// How many rejections are recorded within [`RATE_WINDOW`]; the rest are only counted.
const MAX_RECORDED_PER_WINDOW: u32 = 64;
/// The length of a counting window.
const RATE_WINDOW: Duration = Duration::from_secs(60);
/// How many rejected files are recognised when they are handed in again.
const MAX_REMEMBERED_FILES: usize = 4_096;

/// Recently rejected files.
#[derive(Default)]
pub(crate) struct RejectedFiles(Mutex<RecentRejections>);

#[derive(Default)]
struct RecentRejections {
    seen_files: BTreeSet<Digest>,
    window_start: Timestamp,
    recorded: u32,
    not_recorded: u64,
}

impl RejectedFiles {
    /// Counts a rejected file. `Some` if this rejection is to be recorded, with the number of
    /// unrecorded ones before it.
    pub(crate) fn count_unrecorded(&self, file: Digest, now: Timestamp) -> Option<u64> {
        let mut seen = self.0.lock().ok()?;
        if seen.seen_files.len() >= MAX_REMEMBERED_FILES {
            seen.seen_files.clear();
        }
        if !seen.seen_files.insert(file) {
            return None;
        }
        if now.since(seen.window_start) >= RATE_WINDOW {
            (seen.window_start, seen.recorded) = (now, 0);
        }
        if seen.recorded >= MAX_RECORDED_PER_WINDOW {
            seen.not_recorded = seen.not_recorded.saturating_add(1);
            return None;
        }
        seen.recorded += 1;
        Some(std::mem::take(&mut seen.not_recorded))
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::digest::DomainTag;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

    fn file(n: usize) -> Digest {
        Digest::of(DomainTag::COMMIT, n.to_string().as_bytes())
    }

    #[test]
    fn the_same_file_is_recorded_once() {
        let seen = RejectedFiles::default();
        assert_eq!(seen.count_unrecorded(file(1), NOW), Some(0));
        assert_eq!(seen.count_unrecorded(file(1), NOW.after(RATE_WINDOW * 9)), None);
        assert_eq!(
            seen.count_unrecorded(file(2), NOW.after(RATE_WINDOW * 9)),
            Some(0),
            "nothing was left out"
        );
    }

    #[test]
    fn in_a_minute_64_are_recorded_and_the_rest_is_told_with_the_next() {
        let seen = RejectedFiles::default();
        for n in 0..64 {
            assert_eq!(seen.count_unrecorded(file(n), NOW), Some(0), "{n}");
        }
        let last = NOW.after(Duration::from_micros(59_999_999));
        for n in 64..67 {
            assert_eq!(seen.count_unrecorded(file(n), last), None, "{n}");
        }
        assert_eq!(seen.count_unrecorded(file(67), NOW.after(RATE_WINDOW)), Some(3));
        for n in 68..131 {
            assert_eq!(seen.count_unrecorded(file(n), NOW.after(RATE_WINDOW)), Some(0), "{n}");
        }
        assert_eq!(
            seen.count_unrecorded(file(131), NOW.after(RATE_WINDOW)),
            None,
            "the minute began anew"
        );
    }

    #[test]
    fn the_last_4_096_files_are_known_again() {
        let seen = RejectedFiles::default();
        for n in 0..4_096 {
            seen.count_unrecorded(file(n), NOW);
        }
        assert_eq!(seen.0.lock().unwrap().seen_files.len(), 4_096);
        seen.count_unrecorded(file(4_096), NOW);
        assert_eq!(seen.0.lock().unwrap().seen_files.len(), 1);
        assert_eq!(seen.count_unrecorded(file(4_096), NOW.after(RATE_WINDOW)), None);
        assert!(seen.count_unrecorded(file(0), NOW.after(RATE_WINDOW)).is_some());
    }
}
