//! Sliding windows: the recent calls that rate limits count, in bounded memory.

mod call_groups;

use std::collections::BTreeSet;
use std::time::Duration;

use weaver_types::Timestamp;

use crate::rate_limit::RateLimit;
use call_groups::CallTimesByGroup;

pub(crate) use call_groups::GroupRef;

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
    pub(crate) group: GroupRef<'l>,
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

    /// Whether there is no room for one more call, even after expired calls are removed.
    pub(crate) fn is_full(&self, group: GroupRef<'_>, now: Timestamp) -> bool {
        if self.has_room() {
            return false;
        }
        let is_known = self.groups.get(group).is_some();
        if self.remembered_calls < MAX_REMEMBERED_CALLS && is_known {
            return false;
        }
        let (mut groups, mut calls) = (0_usize, 0_usize);
        for times in self.groups.all_times() {
            let counted = times.calls.len() - times.expired_count(now, times.window);
            groups += usize::from(counted > 0);
            calls += counted;
        }
        calls >= MAX_REMEMBERED_CALLS || (!is_known && groups >= MAX_LIMIT_GROUPS)
    }

    /// Whether there is room for a call of any group, including a new one.
    fn has_room(&self) -> bool {
        self.remembered_calls < MAX_REMEMBERED_CALLS && self.groups.len() < MAX_LIMIT_GROUPS
    }

    pub(crate) fn add<'l>(
        &mut self,
        now: Timestamp,
        counted: impl IntoIterator<Item = CountedCall<'l>>,
    ) {
        if !self.has_room() || now.since(self.last_sweep) >= SWEEP_INTERVAL {
            self.sweep(now);
        }
        for CountedCall { limit, group } in counted {
            let room = self.has_room()
                || (self.remembered_calls < MAX_REMEMBERED_CALLS
                    && self.groups.get(group).is_some());
            if room {
                self.groups.update(group, |times| {
                    times.window = Duration::from_secs(limit.window_s.into());
                    let place = times.calls.partition_point(|at| *at <= now);
                    times.calls.insert(place, now);
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
