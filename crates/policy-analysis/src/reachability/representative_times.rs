//! Representatives of all times that the documents distinguish.

use std::collections::BTreeSet;

use weaver_policy::TimeWindow;
use weaver_types::Timestamp;

const MINUTE: i64 = 60_000_000;
const DAY: i64 = 24 * 60 * MINUTE;
/// Enough days for every weekday to occur, including the window that started on the day before.
const DAYS: i64 = 9;
/// The maximum number of times that are tried.
const MAX_TIMES: usize = 4_096;

/// Times that produce every combination of windows that any time can produce.
#[derive(Debug)]
pub(super) struct RepresentativeTimes {
    /// The times, `now` first.
    pub(super) all: Vec<Timestamp>,
    /// False if a combination may be missing.
    pub(super) complete: bool,
}

/// Representatives of all times for these windows and expiry times.
///
/// Membership in a window is constant between two adjacent window boundaries, so one time per
/// interval suffices. Between two dates in the documents, daily windows repeat every week.
/// Therefore nine days are tried after each such date and before the first one, at each minute at
/// which a daily window starts or ends. If two dates are closer, the later one starts nine days of
/// its own.
pub(super) fn representative_times(
    windows: &[&TimeWindow],
    ends: &[Timestamp],
    now: Timestamp,
) -> RepresentativeTimes {
    let mut dates: BTreeSet<i64> = ends.iter().map(|at| at.micros()).collect();
    let named = windows.iter().flat_map(|window| [window.not_before, window.not_after]);
    dates.extend(named.flatten().map(Timestamp::micros));
    let daily = windows.iter().any(|w| w.from.is_some() || w.to.is_some() || !w.days.is_empty());
    if dates.is_empty() && !daily {
        return RepresentativeTimes { all: vec![now], complete: true };
    }
    let before = dates.first().map(|first| first.saturating_sub(DAYS * DAY));
    dates.extend(before);
    dates.insert(now.micros());
    let mut minutes = BTreeSet::from([0_i64]);
    if daily {
        minutes.extend(windows.iter().flat_map(|w| [w.from, w.to]).flatten().map(i64::from));
    }
    let mut out = BTreeSet::new();
    for date in &dates {
        out.insert(*date);
        let midnight = date.div_euclid(DAY) * DAY;
        for day in 0..if daily { DAYS } else { 0 } {
            for minute in &minutes {
                let at = midnight.saturating_add(day * DAY + minute * MINUTE);
                if at >= *date {
                    out.insert(at);
                }
            }
        }
        if out.len() > MAX_TIMES {
            return RepresentativeTimes { all: vec![now], complete: false };
        }
    }
    out.remove(&now.micros());
    let rest = out.into_iter().map(Timestamp::from_micros);
    RepresentativeTimes { all: std::iter::once(now).chain(rest).collect(), complete: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn window() -> impl Strategy<Value = TimeWindow> {
        let minute = proptest::option::of(0_u16..1_440);
        let date = proptest::option::of(0_i64..40);
        let days = proptest::sample::subsequence(
            vec![
                weaver_policy::Weekday::Mon,
                weaver_policy::Weekday::Wed,
                weaver_policy::Weekday::Sun,
            ],
            0..3,
        );
        (minute.clone(), minute, date.clone(), date, days).prop_map(
            |(from, to, after, before, days)| {
                let at = |day: i64| Timestamp::from_micros(day * DAY + 5 * MINUTE);
                TimeWindow {
                    from,
                    to: to.filter(|to| *to != from.unwrap_or(0)),
                    days: days.into_iter().collect(),
                    not_before: after.map(at),
                    not_after: before.map(at),
                }
            },
        )
    }

    proptest! {
        #[test]
        fn no_time_brings_about_what_no_representative_does(
            windows in proptest::collection::vec(window(), 1..4),
            minutes in -50_000_i64..100_000,
        ) {
            let windows: Vec<_> = windows.iter().collect();
            let times = representative_times(&windows, &[], Timestamp::from_micros(0));
            prop_assert!(times.complete);
            let inside = |at: Timestamp| windows.iter().map(|w| w.contains(at)).collect::<Vec<_>>();
            let expected = inside(Timestamp::from_micros(minutes * MINUTE));
            prop_assert!(times.all.iter().any(|at| inside(*at) == expected));
        }
    }
}
