//! Sliding windows: how often something was allowed in the last seconds.

mod group;

use std::collections::BTreeSet;
use std::time::Duration;

use weaver_types::{Check, Contribution, Discharge, Operation, ReasonCode, Timestamp, Verdict};

use self::group::{GroupRef, Groups};
use crate::decide::applies;
use crate::limit::Limit;
use crate::query::Query;
use crate::truth::Truth;

/// How many groups of calls are remembered.
pub const MAX_GROUPS: usize = 100_000;
/// How many calls are remembered, of all groups together.
pub const MAX_REMEMBERED: usize = 1_000_000;
/// How often forgotten calls are cleared away.
const SWEEP: Duration = Duration::from_secs(60);

/// The allowed invocations of late, in bounded memory. The order in which calls are recorded does
/// not matter.
///
/// It locks nothing and counts only what it is told: whoever holds it checks and records under one
/// lock, so that two calls cannot both take the last place.
#[derive(Debug, Clone, Default)]
pub struct Windows {
    groups: Groups,
    remembered: usize,
    swept: Timestamp,
}

impl Windows {
    /// No call yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What the limits say against one more call: a denial, to be tried again later, for each that
    /// is used up. Views are not limited.
    #[must_use]
    pub fn check(&self, query: &Query<'_>, limits: &[Limit]) -> Vec<Contribution> {
        let counted = counted(query, limits);
        counted.filter_map(|(limit, group)| self.one(query, limit, group)).collect()
    }

    fn one(&self, query: &Query<'_>, limit: &Limit, group: GroupRef<'_>) -> Option<Contribution> {
        let window = Duration::from_secs(limit.window_s.into());
        let allowed = limit.calls_for(&query.principal.roles);
        let most = usize::try_from(allowed).unwrap_or(usize::MAX);
        let times = self.groups.get(group);
        let counted = times.map_or(0, |times| times.calls.len() - times.past(query.now, window));
        let (name, seconds) = (&limit.name, limit.window_s);
        if counted >= most {
            let place = times.and_then(|times| times.calls.len().checked_sub(most));
            let leaves = times.zip(place).and_then(|(times, place)| times.calls.get(place));
            let wait = leaves.map_or(window, |at| at.after(window).since(query.now));
            let detail = format!("limit `{name}`: {allowed} calls in {seconds} s are used up");
            return Some(limited(&detail, wait));
        }
        if self.is_full(times.is_none(), query.now) {
            let detail = format!("limit `{name}`: too many calls are remembered to count another");
            return Some(limited(&detail, window));
        }
        None
    }

    /// Whether there is no room for one more call, when what no longer counts is cleared away.
    fn is_full(&self, new_group: bool, now: Timestamp) -> bool {
        if self.remembered < MAX_REMEMBERED && (!new_group || self.groups.len() < MAX_GROUPS) {
            return false;
        }
        let (mut groups, mut calls) = (0_usize, 0_usize);
        for times in self.groups.times() {
            let counted = times.calls.len() - times.past(now, times.window);
            groups += usize::from(counted > 0);
            calls += counted;
        }
        calls >= MAX_REMEMBERED || (new_group && groups >= MAX_GROUPS)
    }

    /// Counts an invocation that was allowed, at the query's time.
    pub fn record(&mut self, query: &Query<'_>, limits: &[Limit]) {
        if query.operation == Operation::Invoke {
            self.add(query.now, counted(query, limits));
        }
    }

    /// Counts an invocation, unless [`Windows::check`] has something to say against it.
    ///
    /// # Errors
    /// The first of what it says. Nothing was counted.
    pub fn take(&mut self, query: &Query<'_>, limits: &[Limit]) -> Result<(), Box<Contribution>> {
        let counted: Vec<_> = counted(query, limits).collect();
        for (limit, group) in &counted {
            if let Some(said) = self.one(query, limit, *group) {
                return Err(Box::new(said));
            }
        }
        if query.operation == Operation::Invoke {
            self.add(query.now, counted);
        }
        Ok(())
    }

    fn add<'l>(
        &mut self,
        now: Timestamp,
        counted: impl IntoIterator<Item = (&'l Limit, GroupRef<'l>)>,
    ) {
        let full = self.remembered >= MAX_REMEMBERED || self.groups.len() >= MAX_GROUPS;
        if full || now.since(self.swept) >= SWEEP {
            self.sweep(now);
        }
        for (limit, group) in counted {
            let room = self.remembered < MAX_REMEMBERED
                && (self.groups.len() < MAX_GROUPS || self.groups.get(group).is_some());
            if room {
                let times = self.groups.of(group);
                times.window = Duration::from_secs(limit.window_s.into());
                let place = times.calls.partition_point(|at| *at <= now);
                times.calls.insert(place, now);
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

/// The limits that count this call, with what each counts it with. Views are not counted.
fn counted<'a>(
    query: &'a Query<'a>,
    limits: &'a [Limit],
) -> impl Iterator<Item = (&'a Limit, GroupRef<'a>)> {
    let invoked = query.operation == Operation::Invoke;
    let counting = limits.iter().filter(move |limit| invoked && counts(limit, query));
    counting.map(|limit| (limit, GroupRef::of(limit, query)))
}

/// What is not known counts as applying: a limit only tightens.
fn counts(limit: &Limit, query: &Query<'_>) -> bool {
    applies(&limit.matches, query) != Truth::No
}

fn limited(detail: &str, wait: Duration) -> Contribution {
    let retry_after_ms = u64::try_from(wait.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX);
    Contribution::new(Check::Limit, Verdict::Deny, ReasonCode::RateLimited, detail)
        .discharged_by(Discharge::Wait { retry_after_ms })
}

#[cfg(test)]
mod tests;
