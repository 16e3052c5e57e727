//! Sliding windows: the recent calls that limits count, in bounded memory.

mod group;

use std::collections::BTreeSet;
use std::time::Duration;

use weaver_types::Timestamp;

use crate::limit::Limit;
use group::Groups;

pub(crate) use group::GroupRef;

/// How many groups of calls are remembered.
pub const MAX_GROUPS: usize = 100_000;
/// How many calls are remembered, of all groups together.
pub const MAX_REMEMBERED: usize = 1_000_000;
/// How often forgotten calls are cleared away.
const SWEEP: Duration = Duration::from_secs(60);

/// A limit that counts a call, and the calls that it is counted with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedCall<'l> {
    pub(crate) limit: &'l Limit,
    pub(crate) group: GroupRef<'l>,
}

/// The recent allowed invocations, in bounded memory. The order in which calls are recorded does not
/// matter.
///
/// It takes no lock and counts only what is recorded: its owner checks and records under one lock, so
/// that two calls cannot both take the last place.
#[derive(Debug, Clone, Default)]
pub struct Windows {
    pub(crate) groups: Groups,
    pub(crate) remembered: usize,
    swept: Timestamp,
}

impl Windows {
    /// No call yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there is no room for one more call, when what no longer counts is cleared away.
    pub(crate) fn is_full(&self, group: GroupRef<'_>, now: Timestamp) -> bool {
        if self.has_room() {
            return false;
        }
        let is_known = self.groups.get(group).is_some();
        if self.remembered < MAX_REMEMBERED && is_known {
            return false;
        }
        let (mut groups, mut calls) = (0_usize, 0_usize);
        for times in self.groups.times() {
            let counted = times.calls.len() - times.past(now, times.window);
            groups += usize::from(counted > 0);
            calls += counted;
        }
        calls >= MAX_REMEMBERED || (!is_known && groups >= MAX_GROUPS)
    }

    /// Room for a call of any group, also of a new one.
    fn has_room(&self) -> bool {
        self.remembered < MAX_REMEMBERED && self.groups.len() < MAX_GROUPS
    }

    pub(crate) fn add<'l>(
        &mut self,
        now: Timestamp,
        counted: impl IntoIterator<Item = CountedCall<'l>>,
    ) {
        if !self.has_room() || now.since(self.swept) >= SWEEP {
            self.sweep(now);
        }
        for CountedCall { limit, group } in counted {
            let room = self.has_room()
                || (self.remembered < MAX_REMEMBERED && self.groups.get(group).is_some());
            if room {
                self.groups.update(group, |times| {
                    times.window = Duration::from_secs(limit.window_s.into());
                    let place = times.calls.partition_point(|at| *at <= now);
                    times.calls.insert(place, now);
                });
                self.remembered += 1;
            }
        }
    }

    /// Forgets the calls that no longer count.
    pub fn sweep(&mut self, now: Timestamp) {
        self.swept = now;
        self.groups.retain(|_, times| {
            let past = times.past(now, times.window);
            times.calls.drain(..past);
            !times.calls.is_empty()
        });
        self.remembered = self.groups.times().map(|times| times.calls.len()).sum();
    }

    /// Forgets the groups of limits that are no longer among these: for a policy that changed.
    pub fn keep(&mut self, limits: &[Limit]) {
        let names: BTreeSet<_> = limits.iter().map(|limit| limit.name.as_str()).collect();
        self.groups.retain(|limit, _| names.contains(limit));
        self.remembered = self.groups.times().map(|times| times.calls.len()).sum();
    }
}
