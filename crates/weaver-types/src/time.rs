//! Time as a parameter: timestamps in microseconds of UTC, a clock, and a timer.

#[cfg(feature = "calendar")]
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A point in time: microseconds since 1970-01-01T00:00:00Z.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From microseconds since the Unix epoch.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// The time `by` earlier; saturates.
    #[must_use]
    pub fn before(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }

    /// The time `by` later; saturates.
    #[must_use]
    pub fn after(self, by: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` this is; zero if it is not later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// RFC 3339 in UTC with microseconds, for example `2026-01-02T03:04:05.000006Z`.
    #[cfg(feature = "calendar")]
    #[must_use]
    pub fn rfc3339(self) -> String {
        jiff::Timestamp::from_microsecond(self.0)
            .map_or_else(|_| "out-of-range".to_owned(), |t| format!("{t:.6}"))
    }

    /// Parses RFC 3339; fractions below a microsecond are truncated.
    #[cfg(feature = "calendar")]
    #[must_use]
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|t| Self(t.as_microsecond()))
    }
}

#[cfg(feature = "calendar")]
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

/// A source of time.
pub trait Clock: Send + Sync {
    /// Wall-clock time. It may jump; the ledger makes sure that recorded times never go back.
    fn now(&self) -> Timestamp;
    /// Time since some fixed start; never goes back.
    fn monotonic(&self) -> Duration;
}

/// The machine's clocks.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "the one place where wall-clock time enters")]
        let now = SystemTime::now();
        Timestamp(
            now.duration_since(UNIX_EPOCH)
                .map_or(0, |d| i64::try_from(d.as_micros()).unwrap_or(i64::MAX)),
        )
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A clock that moves only on demand: for tests, examples and replays.
#[derive(Debug, Default)]
pub struct ManualClock {
    wall: AtomicI64,
    monotonic: AtomicI64,
}

impl ManualClock {
    /// Starts at `at`, with the monotonic clock at zero.
    #[must_use]
    pub fn new(at: Timestamp) -> Self {
        Self { wall: AtomicI64::new(at.micros()), monotonic: AtomicI64::new(0) }
    }

    /// Advances both clocks.
    pub fn advance(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.wall.fetch_add(micros, Ordering::SeqCst);
        self.monotonic.fetch_add(micros, Ordering::SeqCst);
    }

    /// Sets the wall clock only, forward or back.
    pub fn set(&self, at: Timestamp) {
        self.wall.store(at.micros(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.wall.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.monotonic.load(Ordering::SeqCst)).unwrap_or(0))
    }
}

/// Completes futures after a delay. Hosts plug in their runtime's timer.
pub trait Timer: Send + Sync {
    /// Completes once `after` has passed.
    fn sleep(&self, after: Duration) -> BoxFuture<'static, ()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_round_trips_with_microseconds() {
        let at = Timestamp::from_micros(1_767_323_045_000_006);
        assert_eq!(at.rfc3339(), "2026-01-02T03:04:05.000006Z");
        assert_eq!(Timestamp::parse_rfc3339(&at.rfc3339()), Some(at));
    }

    #[test]
    fn the_manual_clock_keeps_its_monotonic_side_when_set_back() {
        let clock = ManualClock::new(Timestamp::from_micros(10));
        clock.advance(Duration::from_micros(5));
        clock.set(Timestamp::from_micros(1));
        assert_eq!(clock.now().micros(), 1);
        assert_eq!(clock.monotonic(), Duration::from_micros(5));
    }
}
