//! Rate limits: whether the limits of a policy let one more call through.
//!
//! The algorithm is the exact sliding window, often called *sliding window log*: the time of every
//! call that counts is kept, and a call is allowed while fewer than the limit lie within the window
//! before it. A counter per fixed interval would let twice the limit through around the boundary of
//! two intervals, and a token bucket a burst beyond it; here no interval of the window's length ever
//! holds more calls than the limit. The price is memory per call, which is why it is bounded: when
//! the bound is reached, calls are denied, never forgotten.

use std::time::Duration;

use weaver_types::{Check, Contribution, Discharge, Operation, ReasonCode, Verdict};

use crate::limit::{Limit, LimitKey};
use crate::query::Query;
use crate::truth::Truth;
use crate::window::{CountedCall, GroupRef, Windows};

impl Windows {
    /// What the limits say against one more call: a denial, to be tried again later, for each that
    /// is used up. Views are not limited.
    #[must_use]
    pub fn check(&self, query: &Query<'_>, limits: &[Limit]) -> Vec<Contribution> {
        let counted = counted(query, limits);
        counted.filter_map(|one| self.exceeded(query, one)).collect()
    }

    /// What one limit says against one more call.
    fn exceeded(&self, query: &Query<'_>, counted: CountedCall<'_>) -> Option<Contribution> {
        let CountedCall { limit, group } = counted;
        let window = Duration::from_secs(limit.window_s.into());
        let allowed = limit.calls_for(&query.principal.roles);
        let most = usize::try_from(allowed).unwrap_or(usize::MAX);
        let times = self.groups.get(group);
        let calls = times.map_or(0, |times| times.calls.len() - times.past(query.now, window));
        let (name, seconds) = (&limit.name, limit.window_s);
        if calls >= most {
            let place = times.and_then(|times| times.calls.len().checked_sub(most));
            let leaves = times.zip(place).and_then(|(times, place)| times.calls.get(place));
            let wait = leaves.map_or(window, |at| at.after(window).since(query.now));
            let detail = format!("limit `{name}`: {allowed} calls in {seconds} s are used up");
            return Some(limited(&detail, wait));
        }
        if self.is_full(group, query.now) {
            let detail = format!("limit `{name}`: too many calls are remembered to count another");
            return Some(limited(&detail, window));
        }
        None
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
        for one in &counted {
            if let Some(denial) = self.exceeded(query, *one) {
                return Err(Box::new(denial));
            }
        }
        if query.operation == Operation::Invoke {
            self.add(query.now, counted);
        }
        Ok(())
    }
}

impl<'a> GroupRef<'a> {
    fn of(limit: &'a Limit, query: &Query<'a>) -> Self {
        let by = |counted| limit.by.contains(&counted);
        let principal = query.principal;
        Self {
            limit: &limit.name,
            tenant: &principal.tenant,
            principal: by(LimitKey::Principal).then_some(&principal.id),
            capability: by(LimitKey::Capability).then(|| query.capability.id()),
            run: query.run.filter(|_| by(LimitKey::Run)),
            agent: principal.agent.as_ref().filter(|_| by(LimitKey::Agent)),
        }
    }
}

/// The limits that count this call. Views are not counted.
fn counted<'a>(query: &'a Query<'a>, limits: &'a [Limit]) -> impl Iterator<Item = CountedCall<'a>> {
    let invoked = query.operation == Operation::Invoke;
    let counting = limits.iter().filter(move |limit| invoked && counts(limit, query));
    counting.map(|limit| CountedCall { limit, group: GroupRef::of(limit, query) })
}

/// What is not known counts as applying: a limit only tightens.
fn counts(limit: &Limit, query: &Query<'_>) -> bool {
    limit.matches.applies_to(query) != Truth::No
}

fn limited(detail: &str, wait: Duration) -> Contribution {
    let retry_after_ms = u64::try_from(wait.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX);
    Contribution::new(Check::Limit, Verdict::Deny, ReasonCode::RateLimited, detail)
        .discharged_by(Discharge::Wait { retry_after_ms })
}

#[cfg(test)]
mod tests;
