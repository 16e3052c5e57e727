//! Times that stand for all times that the documents tell apart.

use std::collections::BTreeSet;

use weaver_types::Timestamp;

use crate::time_window::TimeWindow;

const MINUTE: i64 = 60_000_000;
const DAY: i64 = 24 * 60 * MINUTE;
/// After so many days everything in a week has come around, past midnight too.
const DAYS: i64 = 9;
/// The most times that are tried.
const MAX_TIMES: usize = 4_096;

/// The times, `now` first, and whether they are enough.
///
/// Windows are constant between two of their ends. After each date that the documents name, and
/// before the first, nine days are looked at, at each minute at which a window of a day begins or
/// ends; where two dates are nearer, the later one begins its own nine days.
pub(super) fn representatives(
    windows: &[&TimeWindow],
    ends: &[Timestamp],
    now: Timestamp,
) -> (Vec<Timestamp>, bool) {
    let mut dates: BTreeSet<i64> = ends.iter().map(|at| at.micros()).collect();
    let named = windows.iter().flat_map(|window| [window.not_before, window.not_after]);
    dates.extend(named.flatten().map(Timestamp::micros));
    let daily = windows.iter().any(|w| w.from.is_some() || w.to.is_some() || !w.days.is_empty());
    if dates.is_empty() && !daily {
        return (vec![now], true);
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
            return (vec![now], false);
        }
    }
    out.remove(&now.micros());
    let rest = out.into_iter().map(Timestamp::from_micros);
    (std::iter::once(now).chain(rest).collect(), true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn window() -> impl Strategy<Value = TimeWindow> {
        let minute = proptest::option::of(0_u16..1_440);
        let date = proptest::option::of(0_i64..40);
        let days = proptest::sample::subsequence(
            vec![crate::Day::Mon, crate::Day::Wed, crate::Day::Sun],
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
            let (times, enough) = representatives(&windows, &[], Timestamp::from_micros(0));
            prop_assert!(enough);
            let holds = |at: Timestamp| windows.iter().map(|w| w.holds(at)).collect::<Vec<_>>();
            let wanted = holds(Timestamp::from_micros(minutes * MINUTE));
            prop_assert!(times.iter().any(|at| holds(*at) == wanted));
        }
    }
}
