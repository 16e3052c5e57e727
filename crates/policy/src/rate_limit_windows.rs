//! Sliding windows: the recent calls that rate limits count, in bounded memory.

mod call_groups;

use std::collections::BTreeSet;
use std::time::Duration;

use weaver_types::Timestamp;

use crate::rate_limit::RateLimit;
use call_groups::CallTimesByGroup;

pub(crate) use call_groups::GroupKey;

/// The maximum number of groups of calls.
pub const MAX_LIMIT_GROUPS: usize = 100_000;
/// The maximum number of remembered calls over all groups.
pub const MAX_REMEMBERED_CALLS: usize = 1_000_000;
/// How often expired calls are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// A limit that counts a call, and the group of calls that it is counted with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedCall<'l> {
    pub(crate) limit: &'l RateLimit,
    pub(crate) group: GroupKey<'l>,
}

/// How many more calls, and calls of new groups, can be remembered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FreeSpace {
    calls: usize,
    groups: usize,
}

impl FreeSpace {
    /// The space beside so many calls of so many groups.
    fn beside(calls: usize, groups: usize) -> Self {
        Self {
            calls: MAX_REMEMBERED_CALLS.saturating_sub(calls),
            groups: MAX_LIMIT_GROUPS.saturating_sub(groups),
        }
    }
}

/// The recent allowed invocations, in bounded memory. Calls may be recorded in any order.
///
/// It takes no lock and counts only recorded calls. The owner must check and record under one lock,
/// so two calls cannot both take the last place.
#[derive(Debug, Clone, Default)]
pub struct RateLimitWindows {
    pub(crate) groups: CallTimesByGroup,
    pub(crate) remembered_calls: usize,
    last_sweep: Timestamp,
}

impl RateLimitWindows {
    /// Without any calls.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The space for these calls together, after expired calls are removed. It decides both what a
    /// check permits and what is remembered, so that no permitted call goes uncounted.
    pub(crate) fn free_space(&self, counted: &[CountedCall<'_>], now: Timestamp) -> FreeSpace {
        let space = self.space_before_sweep();
        if self.suffices(space, counted, now) {
            return space;
        }
        let (mut groups, mut calls) = (0_usize, 0_usize);
        for times in self.groups.all_times() {
            let unexpired = times.unexpired_count(now);
            groups += usize::from(unexpired > 0);
            calls += unexpired;
        }
        FreeSpace::beside(calls, groups)
    }

    /// Takes the space of one more call. False if there is none.
    pub(crate) fn take_space(
        &self,
        space: &mut FreeSpace,
        group: GroupKey<'_>,
        now: Timestamp,
    ) -> bool {
        let new_groups = usize::from(!self.is_known(group, now));
        let fits = space.calls > 0 && space.groups >= new_groups;
        if fits {
            space.calls -= 1;
            space.groups -= new_groups;
        }
        fits
    }

    fn space_before_sweep(&self) -> FreeSpace {
        FreeSpace::beside(self.remembered_calls, self.groups.len())
    }

    fn suffices(&self, space: FreeSpace, counted: &[CountedCall<'_>], now: Timestamp) -> bool {
        let mut space = space;
        counted.iter().all(|one| self.take_space(&mut space, one.group, now))
    }

    /// Whether a call of the group is remembered that is not expired.
    fn is_known(&self, group: GroupKey<'_>, now: Timestamp) -> bool {
        self.groups.get(group).is_some_and(|times| times.unexpired_count(now) > 0)
    }

    /// Remembers a call in each of these groups, as far as there is space.
    pub(crate) fn add(&mut self, now: Timestamp, counted: &[CountedCall<'_>]) {
        let is_due = now.since(self.last_sweep) >= SWEEP_INTERVAL;
        if is_due || !self.suffices(self.space_before_sweep(), counted, now) {
            self.sweep(now);
        }
        let mut space = self.space_before_sweep();
        for CountedCall { limit, group } in counted {
            if self.take_space(&mut space, *group, now) {
                self.groups.update(*group, |times| {
                    times.window = Duration::from_secs(limit.window_s.into());
                    let position = times.calls.partition_point(|at| *at <= now);
                    times.calls.insert(position, now);
                });
                self.remembered_calls += 1;
            }
        }
    }

    /// Removes expired calls.
    pub fn sweep(&mut self, now: Timestamp) {
        self.last_sweep = now;
        self.groups.retain(|_, times| {
            let past = times.expired_count(now, times.window);
            times.calls.drain(..past);
            !times.calls.is_empty()
        });
        self.remembered_calls = self.groups.all_times().map(|times| times.calls.len()).sum();
    }

    /// Removes the groups of all other limits, after the policy has changed.
    pub fn retain_limits(&mut self, limits: &[RateLimit]) {
        let names: BTreeSet<_> = limits.iter().map(|limit| limit.name.as_str()).collect();
        self.groups.retain(|limit, _| names.contains(limit));
        self.remembered_calls = self.groups.all_times().map(|times| times.calls.len()).sum();
    }
}
