//! Reserves a part of the run's budget for each call: reserved before it, charged with what it
//! used, released when it ends. What is used and what is reserved together never exceed a cap,
//! however many calls run at once.
//!
//! The escrow method (O'Neil, *The Escrow Transactional Method*, 1986): a call takes the most that it
//! may need out of the sum before it begins. Calls then run side by side without a lock, and their
//! sum stays within a cap whichever of them end, fail or are abandoned.

use std::time::Duration;

use weaver_types::{CheckKind, CheckResult, Millicents, ReasonCode, RunBudget, RunMeters, Verdict};

use crate::cached_run::{CachedRun, RunSlot, lock_run};
use crate::reserved_amounts::ReservedAmounts;

/// No attempt starts with less time than this.
const MIN_ATTEMPT_US: u64 = 1_000;
/// No call starts with fewer prompt tokens than this: not even a handle could be shown.
const MIN_CALL_TOKENS: u64 = 200;

/// What remains of a run's budgets, without what running calls have reserved. `None` means no cap.
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

/// The most time and money that one attempt may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AttemptNeeds {
    pub(crate) time: Duration,
    pub(crate) max_cost: Millicents,
}

/// The time and money that the attempts of a call have used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SpentAmounts {
    pub(crate) time: Duration,
    pub(crate) cost: Millicents,
}

/// A cap of the run's budget that is reached, by its name in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run's cap `{0}` is used up")]
pub(crate) struct CapReached(pub(crate) &'static str);

/// What one call has reserved of its run's budget. Dropping it releases everything.
pub(crate) struct BudgetReservation {
    slot: RunSlot,
    budget: RunBudget,
    reserved: ReservedAmounts,
}

impl BudgetReservation {
    /// Reserves what the first attempt needs, and up to `tokens` prompt tokens.
    ///
    /// # Errors
    /// The denial, which names the first cap that is reached.
    pub(crate) fn for_first_attempt(
        slot: &RunSlot,
        budget: &RunBudget,
        tokens: u64,
        needs: AttemptNeeds,
    ) -> Result<Self, Box<CheckResult>> {
        let mut reservation = Self {
            slot: slot.clone(),
            budget: budget.clone(),
            reserved: ReservedAmounts::default(),
        };
        let mut run = lock_run(slot).ok_or_else(poisoned_run_denial)?;
        let (free, meters) =
            (free_amounts(&run, budget, ReservedAmounts::default()), run.state().meters);
        let mut next = reservation.amounts_for_attempt(free, SpentAmounts::default(), needs);
        if let (Ok(next), Some(left)) = (&mut next, free.tokens) {
            next.tokens = tokens.min(left);
        }
        let too_few_tokens = free.tokens.is_some_and(|left| left < MIN_CALL_TOKENS && tokens > 0);
        let next = if too_few_tokens { Err(CapReached("max_prompt_tokens")) } else { next };
        let next = next.map_err(|CapReached(cap)| budget_denial(cap, &meters, budget))?;
        run.replace_reservation(reservation.reserved, next);
        reservation.reserved = next;
        drop(run);
        Ok(reservation)
    }

    /// Reserves what another attempt needs in addition to what the earlier ones have used.
    ///
    /// # Errors
    /// [`CapReached`], with the first cap that is reached.
    pub(crate) fn renew_for_attempt(
        &mut self,
        spent: SpentAmounts,
        needs: AttemptNeeds,
    ) -> Result<(), CapReached> {
        let mut run = lock_run(&self.slot).ok_or(CapReached("max_tool_calls"))?;
        let free = free_amounts(&run, &self.budget, self.reserved);
        let next = self.amounts_for_attempt(free, spent, needs)?;
        run.replace_reservation(self.reserved, next);
        self.reserved = next;
        Ok(())
    }

    /// How much of the reserved time is not used yet.
    pub(crate) fn time_left(&self, spent: Duration) -> Duration {
        Duration::from_micros(self.reserved.latency_us).saturating_sub(spent)
    }

    /// The reserved prompt tokens; `None` when the budget has no cap for them.
    pub(crate) fn tokens(&self) -> Option<u64> {
        self.budget.max_prompt_tokens.map(|_| self.reserved.tokens)
    }

    /// What is charged when the end is never seen: the reserved time and money, as far as they have
    /// caps.
    pub(crate) fn worst_case(&self) -> (u64, Millicents) {
        let latency = self.budget.max_latency_ms.map_or(0, |_| self.reserved.latency_us);
        (latency, self.budget.max_cost.map_or(Millicents(0), |_| self.reserved.cost))
    }

    fn amounts_for_attempt(
        &self,
        free: FreeAmounts,
        spent: SpentAmounts,
        needs: AttemptNeeds,
    ) -> Result<ReservedAmounts, CapReached> {
        let (paid, spent, time) = (spent.cost, micros(spent.time), micros(needs.time));
        let left = free.latency_us.map(|left| left.saturating_sub(spent));
        if left.is_some_and(|left| left < MIN_ATTEMPT_US && time > 0) {
            return Err(CapReached("max_latency_ms"));
        }
        let cost = paid.0.saturating_add(needs.max_cost.0);
        if free.cost.is_some_and(|left| cost > left) {
            return Err(CapReached("max_cost_usd_cents"));
        }
        let latency_us = spent.saturating_add(left.map_or(time, |left| left.min(time)));
        Ok(ReservedAmounts { latency_us, cost: Millicents(cost), ..self.reserved })
    }
}

impl Drop for BudgetReservation {
    fn drop(&mut self) {
        if let Some(mut run) = lock_run(&self.slot) {
            run.replace_reservation(self.reserved, ReservedAmounts::default());
        }
    }
}

/// What remains of a budget without what running calls have reserved; tool calls and session tokens
/// are not filled in.
pub(crate) fn budget_remaining(run: &CachedRun, budget: &RunBudget) -> BudgetRemaining {
    let free = free_amounts(run, budget, ReservedAmounts::default());
    BudgetRemaining {
        prompt_tokens: free.tokens,
        latency_us: free.latency_us,
        cost: free.cost.map(Millicents),
        ..BudgetRemaining::default()
    }
}

/// What is neither used nor reserved by other calls; `None` when there is no cap.
fn free_amounts(run: &CachedRun, budget: &RunBudget, excluded: ReservedAmounts) -> FreeAmounts {
    let others = run.reserved().minus(excluded);
    let RunMeters { prompt_tokens, latency_us, cost, .. } = run.state().meters;
    let left = |cap: Option<u64>, used: u64, reserved: u64| {
        cap.map(|cap| cap.saturating_sub(used).saturating_sub(reserved))
    };
    let micros = budget.max_latency_ms.map(|ms| ms.saturating_mul(1_000));
    FreeAmounts {
        tokens: left(budget.max_prompt_tokens, prompt_tokens, others.tokens),
        latency_us: left(micros, latency_us, others.latency_us),
        cost: left(budget.max_cost.map(|cap| cap.0), cost.0, others.cost.0),
    }
}

/// The free amount of each meter.
#[derive(Clone, Copy)]
struct FreeAmounts {
    tokens: Option<u64>,
    latency_us: Option<u64>,
    cost: Option<u64>,
}

/// A duration in microseconds, as it is charged and recorded.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn budget_denial(cap: &'static str, meters: &RunMeters, budget: &RunBudget) -> Box<CheckResult> {
    let detail = match meters.exceeded(budget) {
        Some(cap) => format!("the run's cap `{cap}` is used up"),
        None => format!(
            "the run's cap `{cap}` leaves too little for this call, with what calls under way hold"
        ),
    };
    Box::new(CheckResult::new(CheckKind::Limit, Verdict::Deny, ReasonCode::BudgetExceeded, detail))
}

fn poisoned_run_denial() -> Box<CheckResult> {
    let detail = "the run's state is unusable";
    Box::new(CheckResult::new(CheckKind::System, Verdict::Deny, ReasonCode::InternalError, detail))
}

#[cfg(test)]
mod tests;
