//! Guards the kernel against a wrong clock: time never goes back, and after a jump forward all
//! writes are held until an operator confirms the new time.
//!
//! Expiry, rate limits and approvals all depend on the wall clock. Setting it back would revive
//! what has expired; setting it far ahead would expire what is valid, for good, since the log's
//! time never falls. The guard therefore compares the wall clock with the monotonic clock and,
//! after a start, with the last event of the log.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weaver_types::ledger::{GuardedWrite, Ledger, Namespace, RecordKey, RecordWrite};
use weaver_types::{Clock, Tenant, Timestamp};

use crate::error::KernelError;
use crate::run_log::parse_header;

/// How far the wall clock may advance beyond the monotonic clock between two readings.
const MAX_CLOCK_ADVANCE: Duration = Duration::from_secs(24 * 3_600);
/// How far the wall clock may be ahead of the last event when a kernel is opened.
const MAX_OFFLINE_ADVANCE: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The clock of a kernel, read under its guard. While a jump is not confirmed, time advances by the
/// monotonic clock from the last trusted reading, so that correcting a wrong clock leaves no trace.
pub(crate) struct GuardedClock {
    clock: Arc<dyn Clock>,
    state: Mutex<ClockState>,
}

impl GuardedClock {
    /// Opens the clock of a ledger: time never falls below that of its last event.
    pub(crate) fn open(
        tenant: &Tenant,
        ledger: &dyn Ledger,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, KernelError> {
        let state = Mutex::new(ClockState::open(tenant, ledger, clock.as_ref())?);
        Ok(Self { clock, state })
    }

    pub(crate) fn read(&self) -> ClockReading {
        let mut state = self.lock();
        let now = state.read_clock(self.clock.as_ref());
        ClockReading { now, expiry_time: state.expiry_time }
    }

    /// The clock without its guard.
    pub(crate) fn unguarded(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// The monotonic time, for durations.
    pub(crate) fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    /// The wall time, if it is rejected now.
    pub(crate) fn rejected_wall_time(&self) -> Option<Timestamp> {
        let mut state = self.lock();
        state.read_clock(self.clock.as_ref());
        state.rejected_wall_time
    }

    /// The current time, unless the wall clock is rejected now.
    pub(crate) fn trusted_time(&self) -> Option<Timestamp> {
        self.lock().trusted_time(self.clock.as_ref())
    }

    /// Confirms the wall clock up to `until`.
    pub(crate) fn confirm(&self, until: Timestamp) {
        let mut state = self.lock();
        state.confirmed_until = state.confirmed_until.max(until);
    }

    /// A poisoned lock is used anyway: no update of the state can panic halfway.
    fn lock(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time for a write to a ledger that no kernel has open: that of the clock, but never below the
/// last event. `None` when a kernel of the tenant would not trust the clock, because it is over 30
/// days ahead of the last event and nobody has confirmed it. What is written with such a time would
/// raise the time of the log for good.
///
/// # Errors
/// [`KernelError`], when the ledger cannot be read.
pub fn trusted_time(
    tenant: &Tenant,
    ledger: &dyn Ledger,
    clock: &dyn Clock,
) -> Result<Option<Timestamp>, KernelError> {
    Ok(ClockState::open(tenant, ledger, clock)?.trusted_time(clock))
}

/// A reading of the guarded clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockReading {
    /// The current time. It never falls.
    pub(crate) now: Timestamp,
    /// The time against which expiry is checked. It is the current time, but keeps advancing by the
    /// monotonic clock while the current time stands still because the wall clock was set back.
    pub(crate) expiry_time: Timestamp,
}

#[derive(Debug, Clone, Copy)]
struct ClockState {
    /// The highest time so far, and the monotonic time of that reading; `None` before the first
    /// reading.
    last_reading: Option<(Timestamp, Duration)>,
    /// The time up to which an operator has confirmed the wall clock.
    confirmed_until: Timestamp,
    /// The wall time that was rejected at the last reading, if it was.
    rejected_wall_time: Option<Timestamp>,
    /// The time against which expiry is checked; see [`ClockReading`].
    expiry_time: Timestamp,
}

/// The record of the time up to which operators have confirmed the wall clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredConfirmation {
    until: Timestamp,
    /// The version of the record; `None` if there is none.
    version: Option<u64>,
}

impl StoredConfirmation {
    pub(crate) fn read(tenant: &Tenant, ledger: &dyn Ledger) -> Result<Self, KernelError> {
        let Some(record) = ledger.read(&Self::key(tenant))? else {
            return Ok(Self { until: Timestamp::default(), version: None });
        };
        let micros = std::str::from_utf8(&record.value).ok().and_then(|text| text.parse().ok());
        let until =
            micros.map(Timestamp::from_micros).ok_or_else(|| KernelError::StoredRecord {
                what: "the confirmed clock",
                problem: "it has no time".to_owned(),
            })?;
        Ok(Self { until, version: Some(record.version) })
    }

    /// The write that raises the confirmed time. An earlier time does not lower it, as in
    /// [`GuardedClock::confirm`]: otherwise a restart would reject what was confirmed before.
    pub(crate) fn raise_to(self, tenant: &Tenant, until: Timestamp) -> GuardedWrite {
        let value = self.until.max(until).micros().to_string().into_bytes();
        let put = RecordWrite { key: Self::key(tenant), value, expires_at: None };
        GuardedWrite { put, version: self.version }
    }

    pub(crate) fn key(tenant: &Tenant) -> RecordKey {
        RecordKey::new(tenant.clone(), Namespace::Clock, "confirmed")
    }
}

impl ClockState {
    /// The state for a ledger.
    fn open(tenant: &Tenant, ledger: &dyn Ledger, clock: &dyn Clock) -> Result<Self, KernelError> {
        let confirmed = StoredConfirmation::read(tenant, ledger)?.until;
        let Some(last) = ledger.head()?.size.checked_sub(1) else {
            return Ok(Self::new(clock, None, confirmed));
        };
        let event = ledger.events(last, 1)?.pop().ok_or_else(|| KernelError::StoredRecord {
            what: "the last event",
            problem: "it is missing".to_owned(),
        })?;
        Ok(Self::new(clock, Some(parse_header(&event)?.at), confirmed))
    }

    /// `last` is the time of the last event in the log.
    fn new(clock: &dyn Clock, last: Option<Timestamp>, confirmed: Timestamp) -> Self {
        let mut state = Self {
            last_reading: None,
            confirmed_until: confirmed,
            rejected_wall_time: None,
            expiry_time: Timestamp::default(),
        };
        if let Some(last) = last {
            let (wall, monotonic) = (clock.now(), clock.monotonic());
            let is_ahead = wall > last.after(MAX_OFFLINE_ADVANCE) && wall > confirmed;
            state.rejected_wall_time = is_ahead.then_some(wall);
            let start = if is_ahead { last } else { wall.max(last) };
            state.last_reading = Some((start, monotonic));
            state.expiry_time = start;
        }
        state
    }

    /// The current time, unless the wall clock is rejected now.
    fn trusted_time(&mut self, clock: &dyn Clock) -> Option<Timestamp> {
        let now = self.read_clock(clock);
        self.rejected_wall_time.is_none().then_some(now)
    }

    fn read_clock(&mut self, clock: &dyn Clock) -> Timestamp {
        let (wall, monotonic) = (clock.now(), clock.monotonic());
        let Some((last, last_monotonic)) = self.last_reading else {
            self.last_reading = Some((wall, monotonic));
            self.expiry_time = wall;
            return wall;
        };
        let passed = monotonic.saturating_sub(last_monotonic);
        let expected = last.after(passed);
        let is_ahead = wall > expected.after(MAX_CLOCK_ADVANCE) && wall > self.confirmed_until;
        self.rejected_wall_time = is_ahead.then_some(wall);
        // If the wall clock lags behind, time stands still; only a rejected wall clock is replaced
        // by the monotonic one.
        let now = if is_ahead { expected } else { wall.max(last) };
        self.last_reading = Some((now, monotonic));
        self.expiry_time = now.max(self.expiry_time.after(passed));
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weaver_types::ManualClock;

    const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
    const HOUR: Duration = Duration::from_secs(3_600);

    fn opened(
        clock: &Arc<ManualClock>,
        last: Option<Timestamp>,
        confirmed: Timestamp,
    ) -> GuardedClock {
        let clock: Arc<dyn Clock> = Arc::<ManualClock>::clone(clock);
        let state = Mutex::new(ClockState::new(clock.as_ref(), last, confirmed));
        GuardedClock { clock, state }
    }

    fn guard(clock: &Arc<ManualClock>) -> GuardedClock {
        let guard = opened(clock, None, Timestamp::default());
        assert_eq!(guard.read().now, clock.now());
        guard
    }

    #[test]
    fn time_that_passes_is_no_leap() {
        let clock = Arc::new(ManualClock::new(START));
        let guard = guard(&clock);
        clock.advance(HOUR * 24 * 400);
        assert_eq!(
            (guard.read().now, guard.rejected_wall_time()),
            (START.after(HOUR * 9_600), None)
        );
        clock.set(START.after(HOUR * (9_600 + 23)));
        assert_eq!(guard.rejected_wall_time(), None, "less than a day");
        assert_eq!(guard.read().now, START.after(HOUR * 9_623));
    }

    #[test]
    fn a_leap_is_not_believed_and_leaves_nothing_behind() {
        let clock = Arc::new(ManualClock::new(START));
        let guard = guard(&clock);
        clock.set(START.after(HOUR * 25));
        assert_eq!(guard.rejected_wall_time(), Some(START.after(HOUR * 25)));
        clock.advance(HOUR);
        assert_eq!(guard.read().now, START.after(HOUR), "by the monotonic clock");
        clock.set(START.after(HOUR * 2));
        assert_eq!(guard.rejected_wall_time(), None, "set right");
        assert_eq!(guard.read().now, START.after(HOUR * 2));
    }

    #[test]
    fn a_confirmed_leap_counts() {
        let clock = Arc::new(ManualClock::new(START));
        let guard = guard(&clock);
        clock.set(START.after(HOUR * 100));
        guard.confirm(START.after(HOUR * 99));
        assert!(guard.rejected_wall_time().is_some(), "confirmed up to before");
        guard.confirm(START.after(HOUR * 101));
        assert_eq!((guard.rejected_wall_time(), guard.read().now), (None, START.after(HOUR * 100)));
        clock.set(START.after(HOUR * 1_000));
        assert!(guard.rejected_wall_time().is_some(), "the next one is another");
    }

    #[test]
    fn a_wall_clock_that_lags_holds_the_time_but_not_what_expires() {
        let clock = Arc::new(ManualClock::new(START));
        let guard = guard(&clock);
        clock.set(START.after(HOUR));
        assert_eq!(guard.read().expiry_time, START.after(HOUR));
        for set_back in [START, Timestamp::default()] {
            clock.set(set_back);
            assert_eq!(guard.read().now, START.after(HOUR), "it stands still");
        }
        clock.advance(HOUR * 3);
        assert_eq!(guard.read().now, START.after(HOUR));
        assert_eq!(guard.read().expiry_time, START.after(HOUR * 4));
        clock.set(START.after(HOUR * 9));
        assert_eq!(
            (guard.read().now, guard.read().expiry_time),
            (START.after(HOUR * 9), START.after(HOUR * 9))
        );
    }

    #[test]
    fn a_clock_that_is_rejected_gives_no_trusted_time() {
        let clock = Arc::new(ManualClock::new(START));
        let guard = guard(&clock);
        clock.advance(HOUR);
        assert_eq!(guard.trusted_time(), Some(START.after(HOUR)));
        clock.set(START.after(HOUR * 24 * 400));
        assert_eq!(guard.trusted_time(), None);
        clock.set(START.after(HOUR * 2));
        assert_eq!(guard.trusted_time(), Some(START.after(HOUR * 2)), "set right");
        clock.set(START.after(HOUR * 24 * 400));
        guard.confirm(START.after(HOUR * 24 * 401));
        assert_eq!(guard.trusted_time(), Some(START.after(HOUR * 24 * 400)));
    }

    #[test]
    fn a_month_may_pass_while_closed_and_no_more() {
        let day = HOUR * 24;
        let after = |days: u32| {
            let clock = Arc::new(ManualClock::new(START.after(day * days)));
            let guard = opened(&clock, Some(START), Timestamp::default());
            (guard.rejected_wall_time().is_some(), guard.read().now)
        };
        assert_eq!(after(30), (false, START.after(day * 30)));
        assert_eq!(after(31), (true, START));
        let behind = Arc::new(ManualClock::new(Timestamp::default()));
        let guard = opened(&behind, Some(START), Timestamp::default());
        assert_eq!((guard.rejected_wall_time(), guard.read().now), (None, START), "never back");
    }

    #[test]
    fn a_day_ahead_is_no_leap_and_a_microsecond_more_is_one() {
        let micro = Duration::from_micros(1);
        for (is_ahead, leapt) in [(HOUR * 24, false), (HOUR * 24 + micro, true)] {
            let clock = Arc::new(ManualClock::new(START));
            let guard = guard(&clock);
            clock.set(START.after(is_ahead));
            assert_eq!(guard.rejected_wall_time().is_some(), leapt, "{is_ahead:?}");
        }
        // The same of the time for which no kernel was open.
        for (is_ahead, leapt) in [(HOUR * 720, false), (HOUR * 720 + micro, true)] {
            let clock = Arc::new(ManualClock::new(START.after(is_ahead)));
            let guard = opened(&clock, Some(START), Timestamp::default());
            assert_eq!(guard.rejected_wall_time().is_some(), leapt, "{is_ahead:?}");
        }
    }

    #[test]
    fn a_clock_is_believed_up_to_the_very_time_that_was_confirmed() {
        let micro = Duration::from_micros(1);
        for (confirmed, leapt) in [(HOUR * 1_000, false), (HOUR * 1_000 - micro, true)] {
            let clock = Arc::new(ManualClock::new(START));
            let open = guard(&clock);
            open.confirm(START.after(confirmed));
            open.confirm(START);
            clock.set(START.after(HOUR * 1_000));
            assert_eq!(open.rejected_wall_time().is_some(), leapt, "{confirmed:?}");
            let closed = opened(&clock, Some(START), START.after(confirmed));
            assert_eq!(closed.rejected_wall_time().is_some(), leapt, "{confirmed:?}");
        }
    }
}
