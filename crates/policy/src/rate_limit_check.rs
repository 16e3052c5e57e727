//! Checks whether the rate limits of a policy permit one more call.
//!
//! The algorithm is the exact sliding window (*sliding window log*): the time of every counted call
//! is stored, and a call is allowed while fewer calls than the limit lie within the preceding
//! window. A counter per fixed interval would admit twice the limit around the boundary of two
//! intervals, and a token bucket would admit a burst on top of it; here, no interval of the
//! window's length ever contains more calls than the limit. The price is memory per call, so memory
//! is bounded: at the bound, calls are denied rather than forgotten.

use std::time::Duration;

use weaver_types::{CheckKind, CheckResult, Operation, ReasonCode, Remedy, Verdict};

use crate::query::PolicyQuery;
use crate::rate_limit::{LimitKey, RateLimit};
use crate::rate_limit_windows::{CountedCall, FreeSpace, GroupKey, RateLimitWindows};
use crate::truth::Truth;

impl RateLimitWindows {
    /// Denials for one more call: one, with a time to retry, for each limit that is used up. Views
    /// are not limited.
    #[must_use]
    pub fn check(&self, query: &PolicyQuery<'_>, limits: &[RateLimit]) -> Vec<CheckResult> {
        let counted: Vec<_> = counted_calls(query, limits).collect();
        let mut space = self.free_space(&counted, query.now);
        counted.iter().filter_map(|one| self.limit_denial(query, *one, &mut space)).collect()
    }

    /// The denial of one limit for one more call, if it is used up or the call cannot be counted.
    /// All limits of a call share the free space, because each of them counts it.
    fn limit_denial(
        &self,
        query: &PolicyQuery<'_>,
        counted: CountedCall<'_>,
        space: &mut FreeSpace,
    ) -> Option<CheckResult> {
        let CountedCall { limit, group } = counted;
        let window = Duration::from_secs(limit.window_s.into());
        let allowed = limit.max_calls_for(&query.principal.roles);
        let max_calls = usize::try_from(allowed).unwrap_or(usize::MAX);
        let times = self.groups.get(group);
        let calls =
            times.map_or(0, |times| times.calls.len() - times.expired_count(query.now, window));
        let (name, seconds) = (&limit.name, limit.window_s);
        if calls >= max_calls {
            let first = times.and_then(|times| times.calls.len().checked_sub(max_calls));
            let frees_up_at = times.zip(first).and_then(|(times, first)| times.calls.get(first));
            let wait = frees_up_at.map_or(window, |at| at.after(window).since(query.now));
            let detail = format!("limit `{name}`: {allowed} calls in {seconds} s are used up");
            return Some(rate_limited_result(&detail, wait));
        }
        if !self.take_space(space, group, query.now) {
            let detail = format!("limit `{name}`: too many calls are remembered to count another");
            return Some(rate_limited_result(&detail, window));
        }
        None
    }

    /// Counts an allowed invocation at the query's time.
    pub fn record(&mut self, query: &PolicyQuery<'_>, limits: &[RateLimit]) {
        if query.operation == Operation::Invoke {
            let counted: Vec<_> = counted_calls(query, limits).collect();
            self.add(query.now, &counted);
        }
    }

    /// Counts an invocation, unless [`RateLimitWindows::check`] denies it. Both happen in one call,
    /// so two calls cannot share the last place.
    ///
    /// # Errors
    /// The first denial; in that case, nothing was counted.
    pub fn try_record(
        &mut self,
        query: &PolicyQuery<'_>,
        limits: &[RateLimit],
    ) -> Result<(), Box<CheckResult>> {
        if let Some(denial) = self.check(query, limits).into_iter().next() {
            return Err(Box::new(denial));
        }
        self.record(query, limits);
        Ok(())
    }
}

impl<'a> GroupKey<'a> {
    fn for_query(limit: &'a RateLimit, query: &PolicyQuery<'a>) -> Self {
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

/// The limits that apply to this call. Views are not counted.
fn counted_calls<'a>(
    query: &'a PolicyQuery<'a>,
    limits: &'a [RateLimit],
) -> impl Iterator<Item = CountedCall<'a>> {
    let invoked = query.operation == Operation::Invoke;
    let counting = limits.iter().filter(move |limit| invoked && may_apply(limit, query));
    counting.map(|limit| CountedCall { limit, group: GroupKey::for_query(limit, query) })
}

/// An unknown condition counts as met, because a limit only tightens.
fn may_apply(limit: &RateLimit, query: &PolicyQuery<'_>) -> bool {
    limit.matches.applies_to(query) != Truth::No
}

fn rate_limited_result(detail: &str, wait: Duration) -> CheckResult {
    let retry_after_ms = u64::try_from(wait.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX);
    CheckResult::new(CheckKind::Limit, Verdict::Deny, ReasonCode::RateLimited, detail)
        .with_remedy(Remedy::Wait { retry_after_ms })
}

#[cfg(test)]
mod tests;
