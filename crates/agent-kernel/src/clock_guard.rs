//! The guard of the clock: time never goes back, and a leap forward holds effects until the
//! operator confirms it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Ledger, Namespace, RecordKey};
use weaver_types::{Clock, Tenant, Timestamp};

use crate::error::KernelError;

/// How far the wall clock may run ahead of the monotonic one between two looks.
const LEAP: Duration = Duration::from_secs(24 * 3_600);
/// How far the time may have moved on while no kernel was open.
const LEAP_WHILE_CLOSED: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Keeps the time. While a leap is not confirmed, time goes on from where it was, by the monotonic
/// clock, so that a wrong clock that is set right leaves nothing behind.
pub(crate) struct ClockGuard(Mutex<Inner>);

/// A look at the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The time that counts. It never falls.
    pub(crate) now: Timestamp,
    /// The time by which what was given for a while expires: the time that counts, but it also goes
    /// on by the monotonic clock while the wall clock was set back and the other stands still.
    pub(crate) latest: Timestamp,
}

#[derive(Debug, Clone, Copy)]
struct Inner {
    /// The highest time that counted, and the monotonic time then; `None` before the first look.
    last: Option<(Timestamp, Duration)>,
    /// Up to when the operator has confirmed the wall clock.
    confirmed: Timestamp,
    /// The wall clock that was not believed, at the last look.
    leapt: Option<Timestamp>,
    /// The time by which things expire: it goes on while the wall clock lags behind.
    latest: Timestamp,
}

impl ClockGuard {
    /// `last` is the time of the last event in the log.
    pub(crate) fn new(clock: &dyn Clock, last: Option<Timestamp>, confirmed: Timestamp) -> Self {
        let mut inner = Inner { last: None, confirmed, leapt: None, latest: Timestamp::default() };
        if let Some(last) = last {
            let (wall, monotonic) = (clock.now(), clock.monotonic());
            let ahead = wall > last.after(LEAP_WHILE_CLOSED) && wall > confirmed;
            inner.leapt = ahead.then_some(wall);
            let start = if ahead { last } else { wall.max(last) };
            inner.last = Some((start, monotonic));
            inner.latest = start;
        }
        Self(Mutex::new(inner))
    }

    /// What time it is, in both ways of counting.
    pub(crate) fn moment(&self, clock: &dyn Clock) -> Moment {
        let mut inner = self.lock();
        let now = inner.look(clock);
        Moment { now, latest: inner.latest }
    }

    /// The wall clock, when it is not believed.
    pub(crate) fn leapt(&self, clock: &dyn Clock) -> Option<Timestamp> {
        let mut inner = self.lock();
        inner.look(clock);
        inner.leapt
    }

    /// The operator confirms the wall clock up to `until`.
    pub(crate) fn confirm(&self, until: Timestamp) {
        let mut inner = self.lock();
        inner.confirmed = inner.confirmed.max(until);
    }

    /// Nothing in here panics while it is half done.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The guard of a ledger: time never falls below that of its last event.
pub(crate) fn open(
    tenant: &Tenant,
    ledger: &dyn Ledger,
    clock: &dyn Clock,
) -> Result<ClockGuard, KernelError> {
    let stored = |what: &'static str, problem: &str| KernelError::Stored {
        what,
        problem: problem.to_owned(),
    };
    let confirmed = match ledger.read(&key(tenant))? {
        None => Timestamp::default(),
        Some(record) => std::str::from_utf8(&record.value)
            .ok()
            .and_then(|text| text.parse().ok())
            .map(Timestamp::from_micros)
            .ok_or_else(|| stored("the confirmed clock", "it holds no time"))?,
    };
    let Some(last) = ledger.head()?.size.checked_sub(1) else {
        return Ok(ClockGuard::new(clock, None, confirmed));
    };
    let wrong = |problem| stored("the last event", problem);
    let event = ledger.events(last, 1)?.pop().ok_or_else(|| wrong("it is missing"))?;
    let at = canonical::parse(&event.header, Profile::Record)
        .ok()
        .and_then(|header| header.get("at")?.as_i64())
        .ok_or_else(|| wrong("its header has no time"))?;
    Ok(ClockGuard::new(clock, Some(Timestamp::from_micros(at)), confirmed))
}

/// Where the confirmed clock is stored.
pub(crate) fn key(tenant: &Tenant) -> RecordKey {
    RecordKey::new(tenant.clone(), Namespace::Clock, "confirmed")
}

impl Inner {
    fn look(&mut self, clock: &dyn Clock) -> Timestamp {
        let (wall, monotonic) = (clock.now(), clock.monotonic());
        let Some((last, then)) = self.last else {
            self.last = Some((wall, monotonic));
            self.latest = wall;
            return wall;
        };
        let passed = monotonic.saturating_sub(then);
        let due = last.after(passed);
        let ahead = wall > due.after(LEAP) && wall > self.confirmed;
        self.leapt = ahead.then_some(wall);
        // A wall clock that lags behind holds the time still; only an unbelieved one is replaced.
        let now = if ahead { due } else { wall.max(last) };
        self.last = Some((now, monotonic));
        self.latest = now.max(self.latest.after(passed));
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weaver_types::ManualClock;

    const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
    const HOUR: Duration = Duration::from_secs(3_600);

    fn guard(clock: &ManualClock) -> ClockGuard {
        let guard = ClockGuard::new(clock, None, Timestamp::default());
        assert_eq!(guard.moment(clock).now, clock.now());
        guard
    }

    #[test]
    fn time_that_passes_is_no_leap() {
        let clock = ManualClock::new(START);
        let guard = guard(&clock);
        clock.advance(HOUR * 24 * 400);
        assert_eq!(
            (guard.moment(&clock).now, guard.leapt(&clock)),
            (START.after(HOUR * 9_600), None)
        );
        clock.set(START.after(HOUR * (9_600 + 23)));
        assert_eq!(guard.leapt(&clock), None, "less than a day");
        assert_eq!(guard.moment(&clock).now, START.after(HOUR * 9_623));
    }

    #[test]
    fn a_leap_is_not_believed_and_leaves_nothing_behind() {
        let clock = ManualClock::new(START);
        let guard = guard(&clock);
        clock.set(START.after(HOUR * 25));
        assert_eq!(guard.leapt(&clock), Some(START.after(HOUR * 25)));
        clock.advance(HOUR);
        assert_eq!(guard.moment(&clock).now, START.after(HOUR), "by the monotonic clock");
        clock.set(START.after(HOUR * 2));
        assert_eq!(guard.leapt(&clock), None, "set right");
        assert_eq!(guard.moment(&clock).now, START.after(HOUR * 2));
    }

    #[test]
    fn a_confirmed_leap_counts() {
        let clock = ManualClock::new(START);
        let guard = guard(&clock);
        clock.set(START.after(HOUR * 100));
        guard.confirm(START.after(HOUR * 99));
        assert!(guard.leapt(&clock).is_some(), "confirmed up to before");
        guard.confirm(START.after(HOUR * 101));
        assert_eq!(
            (guard.leapt(&clock), guard.moment(&clock).now),
            (None, START.after(HOUR * 100))
        );
        clock.set(START.after(HOUR * 1_000));
        assert!(guard.leapt(&clock).is_some(), "the next one is another");
    }

    #[test]
    fn a_wall_clock_that_lags_holds_the_time_but_not_what_expires() {
        let clock = ManualClock::new(START);
        let guard = guard(&clock);
        clock.set(START.after(HOUR));
        assert_eq!(guard.moment(&clock).latest, START.after(HOUR));
        for set_back in [START, Timestamp::default()] {
            clock.set(set_back);
            assert_eq!(guard.moment(&clock).now, START.after(HOUR), "it stands still");
        }
        clock.advance(HOUR * 3);
        assert_eq!(guard.moment(&clock).now, START.after(HOUR));
        assert_eq!(guard.moment(&clock).latest, START.after(HOUR * 4));
        clock.set(START.after(HOUR * 9));
        assert_eq!(
            (guard.moment(&clock).now, guard.moment(&clock).latest),
            (START.after(HOUR * 9), START.after(HOUR * 9))
        );
    }

    #[test]
    fn a_month_may_pass_while_closed_and_no_more() {
        let day = HOUR * 24;
        let opened = |days: u32| {
            let clock = ManualClock::new(START.after(day * days));
            let guard = ClockGuard::new(&clock, Some(START), Timestamp::default());
            (guard.leapt(&clock).is_some(), guard.moment(&clock).now)
        };
        assert_eq!(opened(30), (false, START.after(day * 30)));
        assert_eq!(opened(31), (true, START));
        let behind = ManualClock::new(Timestamp::default());
        let guard = ClockGuard::new(&behind, Some(START), Timestamp::default());
        assert_eq!((guard.leapt(&behind), guard.moment(&behind).now), (None, START), "never back");
    }

    #[test]
    fn a_day_ahead_is_no_leap_and_a_microsecond_more_is_one() {
        let micro = Duration::from_micros(1);
        for (ahead, leapt) in [(HOUR * 24, false), (HOUR * 24 + micro, true)] {
            let clock = ManualClock::new(START);
            let guard = guard(&clock);
            clock.set(START.after(ahead));
            assert_eq!(guard.leapt(&clock).is_some(), leapt, "{ahead:?}");
        }
        // The same of the time for which no kernel was open.
        for (ahead, leapt) in [(HOUR * 720, false), (HOUR * 720 + micro, true)] {
            let clock = ManualClock::new(START.after(ahead));
            let guard = ClockGuard::new(&clock, Some(START), Timestamp::default());
            assert_eq!(guard.leapt(&clock).is_some(), leapt, "{ahead:?}");
        }
    }

    #[test]
    fn a_clock_is_believed_up_to_the_very_time_that_was_confirmed() {
        let micro = Duration::from_micros(1);
        for (confirmed, leapt) in [(HOUR * 1_000, false), (HOUR * 1_000 - micro, true)] {
            let clock = ManualClock::new(START);
            let open = guard(&clock);
            open.confirm(START.after(confirmed));
            open.confirm(START);
            clock.set(START.after(HOUR * 1_000));
            assert_eq!(open.leapt(&clock).is_some(), leapt, "{confirmed:?}");
            let closed = ClockGuard::new(&clock, Some(START), START.after(confirmed));
            assert_eq!(closed.leapt(&clock).is_some(), leapt, "{confirmed:?}");
        }
    }
}
