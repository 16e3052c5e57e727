//! Time windows, in UTC.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use weaver_types::Timestamp;

const MINUTE: i64 = 60_000_000;
const DAY: i64 = 24 * 60 * MINUTE;
/// The last minute at which a window can end: 24:00.
pub(crate) const END_OF_DAY: u16 = 24 * 60;

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Weekday {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

/// When something applies. A field that is `None` or empty imposes no restriction.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TimeWindow {
    /// The minute of the day at which the window starts, 0 to 1439.
    pub from: Option<u16>,
    /// The minute of the day before which it ends, 0 to 1440. If earlier than `from`, it is on the
    /// next day.
    pub to: Option<u16>,
    /// The days on which the window starts.
    pub days: BTreeSet<Weekday>,
    /// The earliest time.
    pub not_before: Option<Timestamp>,
    /// The end, exclusive.
    pub not_after: Option<Timestamp>,
}

impl TimeWindow {
    /// Whether the time is inside.
    #[must_use]
    pub fn contains(&self, now: Timestamp) -> bool {
        self.not_before.is_none_or(|from| from <= now)
            && self.not_after.is_none_or(|to| now < to)
            && self.contains_time_of_day(now.micros())
    }

    fn contains_time_of_day(&self, micros: i64) -> bool {
        let (day, time) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
        let from = i64::from(self.from.unwrap_or(0)) * MINUTE;
        let to = i64::from(self.to.unwrap_or(END_OF_DAY)) * MINUTE;
        let start_day = if from < to {
            (from <= time && time < to).then_some(day)
        } else if from <= time {
            Some(day)
        } else {
            (time < to).then_some(day - 1)
        };
        start_day.is_some_and(|day| self.days.is_empty() || self.days.contains(&weekday(day)))
    }

    /// Why the window is invalid, if it is.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        if *self == Self::default() {
            return Some("it says nothing");
        }
        let (from, to) = (self.from.unwrap_or(0), self.to.unwrap_or(END_OF_DAY));
        if from >= END_OF_DAY || to > END_OF_DAY || from == to {
            return Some("`from` and `to` are the same, or no minutes of a day");
        }
        if self.not_before.zip(self.not_after).is_some_and(|(from, to)| from >= to) {
            return Some("`not_before` is not before `not_after`");
        }
        None
    }
}

/// The weekday of a day since the epoch, which was a Thursday.
fn weekday(day: i64) -> Weekday {
    use Weekday::{Fri, Mon, Sat, Sun, Thu, Tue, Wed};
    const DAYS: [Weekday; 7] = [Mon, Tue, Wed, Thu, Fri, Sat, Sun];
    let number = usize::try_from((day + 3).rem_euclid(7)).unwrap_or_default();
    DAYS.get(number).copied().unwrap_or(Mon)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).unwrap()
    }

    fn window(from: u16, to: u16, days: &[Weekday]) -> TimeWindow {
        let days = days.iter().copied().collect();
        TimeWindow { from: Some(from), to: Some(to), days, ..TimeWindow::default() }
    }

    #[test]
    fn a_window_holds_from_its_start_and_before_its_end() {
        let office = window(9 * 60, 17 * 60, &[Weekday::Mon, Weekday::Fri]);
        // 2026-01-02 was a Friday.
        assert!(office.contains(at("2026-01-02T09:00:00Z")));
        assert!(office.contains(at("2026-01-02T16:59:59.999999Z")));
        assert!(!office.contains(at("2026-01-02T17:00:00Z")));
        assert!(!office.contains(at("2026-01-02T08:59:59.999999Z")));
        assert!(!office.contains(at("2026-01-03T10:00:00Z")));
        assert!(office.contains(at("2026-01-05T10:00:00+00:00")));
    }

    #[test]
    fn a_window_past_midnight_belongs_to_the_day_it_began_on() {
        let night = window(22 * 60, 6 * 60, &[Weekday::Fri]);
        assert!(night.contains(at("2026-01-02T22:00:00Z")));
        assert!(night.contains(at("2026-01-03T05:59:00Z")));
        assert!(!night.contains(at("2026-01-03T06:00:00Z")));
        assert!(!night.contains(at("2026-01-03T22:00:00Z")));
        assert!(!night.contains(at("2026-01-02T05:00:00Z")));
    }

    #[test]
    fn days_and_dates_stand_alone_too() {
        let thursday = TimeWindow { days: [Weekday::Thu].into(), ..TimeWindow::default() };
        assert!(thursday.contains(Timestamp::from_micros(0)));
        assert!(!thursday.contains(Timestamp::from_micros(-1)));
        let january = TimeWindow {
            not_before: Some(at("2026-01-01T00:00:00Z")),
            not_after: Some(at("2026-02-01T00:00:00Z")),
            ..TimeWindow::default()
        };
        assert!(january.contains(at("2026-01-31T23:59:59Z")));
        assert!(!january.contains(at("2026-02-01T00:00:00Z")));
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        assert!(TimeWindow::default().problem().is_some());
        assert!(window(60, 60, &[]).problem().is_some());
        assert!(window(0, 1_440, &[]).problem().is_none());
        assert!(window(0, 1_441, &[]).problem().is_some());
        assert!(window(1_440, 60, &[]).problem().is_some());
        let to = TimeWindow { to: Some(0), ..TimeWindow::default() };
        assert!(to.problem().is_some());
    }
}
