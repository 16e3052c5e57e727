//! Bounds the examination of a child, which decides itself how much there is to examine.

use std::time::{Duration, Instant};

use super::CoverRefreshError;

/// The longest examination of one child.
const MAX_TIME: Duration = Duration::from_secs(5);
/// The most processes, threads, descriptors and mappings that are looked at.
const MAX_LOOKS: u32 = 1_000_000;

/// What is left of the time and work for one child. Whoever uses up either has to be ended.
#[derive(Debug)]
pub(super) struct WorkLimit {
    end: Instant,
    looks: u32,
}

impl WorkLimit {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { end: now.checked_add(MAX_TIME).unwrap_or(now), looks: MAX_LOOKS }
    }

    /// Accounts for one look.
    pub(super) fn spend(&mut self) -> Result<(), CoverRefreshError> {
        match self.looks.checked_sub(1) {
            Some(rest) if self.remaining() > Duration::ZERO => self.looks = rest,
            _ => return Err(CoverRefreshError::TooMuch),
        }
        Ok(())
    }

    /// The time that is left.
    pub(super) fn remaining(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
impl WorkLimit {
    /// A limit of this many looks.
    pub(super) fn of_looks(looks: u32) -> Self {
        Self { looks, ..Self::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_work_and_time_end() {
        let mut limit = WorkLimit::of_looks(2);
        assert_eq!([limit.spend(), limit.spend()], [Ok(()), Ok(())]);
        assert_eq!(limit.spend(), Err(CoverRefreshError::TooMuch));
        let mut limit = WorkLimit { end: Instant::now(), ..WorkLimit::new() };
        assert_eq!(limit.spend(), Err(CoverRefreshError::TooMuch));
    }
}
