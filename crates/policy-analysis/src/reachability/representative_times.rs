//! Times that represent all times that the documents tell apart.

use std::collections::BTreeSet;

use weaver_policy::TimeWindow;
use weaver_types::Timestamp;

const MINUTE: i64 = 60_000_000;
const DAY: i64 = 24 * 60 * MINUTE;
/// Days after which every weekday has occurred, with the window that began on the day before.
const DAYS: i64 = 9;
/// The most times that are tried.
const MAX_TIMES: usize = 4_096;

/// Times under which every combination of windows is seen that any time can bring about.
#[derive(Debug)]
pub(super) struct RepresentativeTimes {
    /// The times, `now` first.
    pub(super) all: Vec<Timestamp>,
    /// False where a combination may be missing.
    pub(super) complete: bool,
}

/// Representatives of all times under these windows and ends.
///
/// Whether a time is in a window is constant between two neighbouring ends of windows, so one time
/// for each such interval is enough. Between two dates that the documents name, daily windows repeat
/// every week. Hence, after each such date and before the first, nine days are tried, at each minute
/// at which a daily window begins or ends; where two dates are closer, the later one begins nine days
/// of its own.
pub(super) fn covering(
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
            vec![weaver_policy::Day::Mon, weaver_policy::Day::Wed, weaver_policy::Day::Sun],
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
            let times = covering(&windows, &[], Timestamp::from_micros(0));
            prop_assert!(times.complete);
            let inside = |at: Timestamp| windows.iter().map(|w| w.contains(at)).collect::<Vec<_>>();
            let expected = inside(Timestamp::from_micros(minutes * MINUTE));
            prop_assert!(times.all.iter().any(|at| inside(*at) == expected));
        }
    }
}
