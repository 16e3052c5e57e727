//! What a call reserves of its run's budget: set aside before it, charged with what it took, given
//! back when it is over. What is used and what is set aside never exceed a cap, however many calls
//! are under way.
//!
//! The escrow method (O'Neil, *The Escrow Transactional Method*, 1986): a call takes the most that it
//! may need out of the sum before it begins. Calls then run side by side without a lock, and their
//! sum stays within a cap whichever of them end, fail or are abandoned.

use std::time::Duration;

use weaver_types::{Check, Contribution, Millicents, ReasonCode, RunBudget, RunMeters, Verdict};

use crate::cached_run::{CachedRun, RunSlot, lock};
use crate::reserved_amounts::ReservedAmounts;

/// No attempt begins with less time than this.
const LEAST_TIME_US: u64 = 1_000;
/// No call begins with fewer prompt tokens than these: not even a handle could be shown.
const LEAST_TOKENS: u64 = 200;

/// What is left of a run's budgets, with what calls under way hold taken off. `None` means no cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BudgetRemaining {
    /// Calls.
    pub tool_calls: Option<u64>,
    /// Prompt tokens of the run.
    pub prompt_tokens: Option<u64>,
    /// Microseconds of execution.
    pub latency_us: Option<u64>,
    /// Money.
    pub cost: Option<Millicents>,
    /// Tokens of the session.
    pub session_tokens: Option<u32>,
}

/// What one attempt may take: at most this much time, and up to this much money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AttemptNeeds {
    pub(crate) time: Duration,
    pub(crate) price: Millicents,
}

/// What the attempts of a call took so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SpentAmounts {
    pub(crate) time: Duration,
    pub(crate) cost: Millicents,
}

/// A cap of a run's budget that leaves no room, by its name in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run's cap `{0}` is used up")]
pub(crate) struct CapReached(pub(crate) &'static str);

/// What one call has set aside of its run's budget. Dropped, it gives everything back.
pub(crate) struct BudgetReservation {
    slot: RunSlot,
    budget: RunBudget,
    held: ReservedAmounts,
}

impl BudgetReservation {
    /// Sets aside what a first attempt needs, and up to `tokens` prompt tokens.
    ///
    /// # Errors
    /// Which cap has no room.
    pub(crate) fn take(
        slot: &RunSlot,
        budget: &RunBudget,
        tokens: u64,
        needs: AttemptNeeds,
    ) -> Result<Self, Box<Contribution>> {
        let mut reservation =
            Self { slot: slot.clone(), budget: budget.clone(), held: ReservedAmounts::default() };
        let mut hot = lock(slot).ok_or_else(unusable)?;
        let (free, meters) = (free(&hot, budget, ReservedAmounts::default()), hot.state().meters);
        let mut next = reservation.attempt_in(free, SpentAmounts::default(), needs);
        if let (Ok(next), Some(left)) = (&mut next, free.tokens) {
            next.tokens = tokens.min(left);
        }
        let short = free.tokens.is_some_and(|left| left < LEAST_TOKENS && tokens > 0);
        let next = if short { Err(CapReached("max_prompt_tokens")) } else { next };
        let next = next.map_err(|CapReached(cap)| full(cap, &meters, budget))?;
        hot.hold(reservation.held, next);
        reservation.held = next;
        drop(hot);
        Ok(reservation)
    }

    /// Sets aside what another attempt needs, with what the ones before it took.
    ///
    /// # Errors
    /// [`CapReached`], naming the first cap without room.
    pub(crate) fn again(
        &mut self,
        spent: SpentAmounts,
        needs: AttemptNeeds,
    ) -> Result<(), CapReached> {
        let mut hot = lock(&self.slot).ok_or(CapReached("max_tool_calls"))?;
        let free = free(&hot, &self.budget, self.held);
        let next = self.attempt_in(free, spent, needs)?;
        hot.hold(self.held, next);
        self.held = next;
        Ok(())
    }

    /// How much time is set aside beyond what was spent.
    pub(crate) fn time(&self, spent: Duration) -> Duration {
        Duration::from_micros(self.held.latency_us).saturating_sub(spent)
    }

    /// Prompt tokens that are set aside; `None` where the budget has no cap for them.
    pub(crate) fn tokens(&self) -> Option<u64> {
        self.budget.max_prompt_tokens.map(|_| self.held.tokens)
    }

    /// What is charged when the end is never seen: time and money, where they have caps.
    pub(crate) fn at_worst(&self) -> (u64, Millicents) {
        let latency = self.budget.max_latency_ms.map_or(0, |_| self.held.latency_us);
        (latency, self.budget.max_cost.map_or(Millicents(0), |_| self.held.cost))
    }

    fn attempt_in(
        &self,
        free: FreeAmounts,
        spent: SpentAmounts,
        needs: AttemptNeeds,
    ) -> Result<ReservedAmounts, CapReached> {
        let (paid, spent, time) = (spent.cost, micros(spent.time), micros(needs.time));
        let left = free.latency_us.map(|left| left.saturating_sub(spent));
        if left.is_some_and(|left| left < LEAST_TIME_US && time > 0) {
            return Err(CapReached("max_latency_ms"));
        }
        let cost = paid.0.saturating_add(needs.price.0);
        if free.cost.is_some_and(|left| cost > left) {
            return Err(CapReached("max_cost_usd_cents"));
        }
        let latency_us = spent.saturating_add(left.map_or(time, |left| left.min(time)));
        Ok(ReservedAmounts { latency_us, cost: Millicents(cost), ..self.held })
    }
}

impl Drop for BudgetReservation {
    fn drop(&mut self) {
        if let Some(mut hot) = lock(&self.slot) {
            hot.hold(self.held, ReservedAmounts::default());
        }
    }
}

/// What is left of a budget, with what calls under way hold taken off; calls and sessions apart.
pub(crate) fn left(hot: &CachedRun, budget: &RunBudget) -> BudgetRemaining {
    let free = free(hot, budget, ReservedAmounts::default());
    BudgetRemaining {
        prompt_tokens: free.tokens,
        latency_us: free.latency_us,
        cost: free.cost.map(Millicents),
        ..BudgetRemaining::default()
    }
}

/// What is neither used nor set aside by others; `None` where there is no cap.
fn free(hot: &CachedRun, budget: &RunBudget, own: ReservedAmounts) -> FreeAmounts {
    let others = hot.held().minus(own);
    let RunMeters { prompt_tokens, latency_us, cost, .. } = hot.state().meters;
    let left = |cap: Option<u64>, used: u64, held: u64| {
        cap.map(|cap| cap.saturating_sub(used).saturating_sub(held))
    };
    let micros = budget.max_latency_ms.map(|ms| ms.saturating_mul(1_000));
    FreeAmounts {
        tokens: left(budget.max_prompt_tokens, prompt_tokens, others.tokens),
        latency_us: left(micros, latency_us, others.latency_us),
        cost: left(budget.max_cost.map(|cap| cap.0), cost.0, others.cost.0),
    }
}

/// What is left, by meter.
#[derive(Clone, Copy)]
struct FreeAmounts {
    tokens: Option<u64>,
    latency_us: Option<u64>,
    cost: Option<u64>,
}

/// Microseconds as they are charged and recorded.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn full(cap: &'static str, meters: &RunMeters, budget: &RunBudget) -> Box<Contribution> {
    let detail = match meters.exceeded(budget) {
        Some(cap) => format!("the run's cap `{cap}` is used up"),
        None => format!(
            "the run's cap `{cap}` leaves too little for this call, with what calls under way hold"
        ),
    };
    Box::new(Contribution::new(Check::Limit, Verdict::Deny, ReasonCode::BudgetExceeded, detail))
}

fn unusable() -> Box<Contribution> {
    let detail = "the run's state is unusable";
    Box::new(Contribution::new(Check::System, Verdict::Deny, ReasonCode::InternalError, detail))
}

#[cfg(test)]
mod tests;
