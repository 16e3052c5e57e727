//! A dry run: the verdict that a call would get, and what would be done; nothing is executed,
//! recorded, charged or held.

use std::time::Duration;

use serde_json::Value;
use weaver_firewall::Session;
use weaver_types::{
    Contribution, Decision, Millicents, ResponseMode, RunContext, RunMeters, Verdict,
};

use super::attempt::needs_of;
use super::evaluate::{Evaluation, EvaluationRequest};
use super::grant::limits;
use super::hypothetical_call::HypotheticalCall;
use super::token_allotment::TokenAllotment;
use crate::budget_reservation::BudgetRemaining;
use crate::budget_reservation::{AttemptNeeds, BudgetReservation, left};
use crate::cached_run::{RunSlot, lock};
use crate::caller::{Call, Caller};
use crate::kernel::Kernel;

/// What a call would come to.
#[derive(Debug, Clone)]
pub struct DryRun {
    /// The decision that it would get.
    pub decision: Decision,
    /// How much of its result would be shown at most: the mode asked for, or a stricter one of a
    /// constraint or of its session.
    pub mode: ResponseMode,
    /// What is left of the budgets of its run; `None` when the run cannot be read.
    pub budget_remaining: Option<BudgetRemaining>,
    /// The driver that would execute it; `None` where there is no such capability for this caller.
    pub driver: Option<String>,
    /// The arguments as they would be sent; `None` where they do not fit, or none were given.
    pub arguments: Option<Value>,
    /// How long an attempt could take.
    pub timeout: Option<Duration>,
    /// The most that an attempt could cost, where the driver knows.
    pub price: Millicents,
}

impl Kernel {
    /// Decides on a call as [`Kernel::execute`] would, and says what would be done. Nothing is
    /// executed, recorded or charged, no request is opened, and no resolver is asked.
    #[must_use]
    pub fn dry_run(&self, caller: Caller<'_>, call: Call<'_>) -> DryRun {
        self.as_if(caller, call, |asked| self.would_do(asked))
    }

    fn would_do(&self, asked: HypotheticalCall<'_>) -> DryRun {
        let HypotheticalCall { question, mode, evaluated, .. } = asked;
        let EvaluationRequest { caller, request, .. } = question;
        let Evaluation { mut decision, target, slot, .. } = *evaluated;
        let limits = limits(request, &decision);
        let mut shown = limits.mode.map_or(mode, |least| least.max(mode));
        if let (Some(slot), Some(target), true) = (&slot, &target, decision.allowed()) {
            let needs = needs_of(target, &limits);
            match self.would_fit(slot, caller, shown, needs) {
                Ok(least) => shown = shown.max(least),
                Err(said) => decision = decision.tightened(*said),
            }
        }
        let found = target.as_ref();
        let needs = found.map(|target| needs_of(target, &limits)).unwrap_or_default();
        DryRun {
            mode: shown,
            budget_remaining: self.budget_remaining(caller.run),
            driver: found.map(|target| target.entry.driver.name().to_owned()),
            timeout: found.map(|_| needs.time),
            price: needs.price,
            arguments: found
                .filter(|target| target.arguments.is_some())
                .and_then(|_| question.masks.map(|masks| &masks.given).or(question.arguments))
                .cloned(),
            decision,
        }
    }

    /// What a run has used up so far. `None` when it cannot be read.
    #[must_use]
    pub fn meters(&self, run: &RunContext) -> Option<RunMeters> {
        let slot = self.runs.slot(&run.run_id, self.ledger.as_ref()).ok()?;
        Some(lock(&slot)?.state().meters)
    }

    /// What is left of the budgets of a run. `None` when the run cannot be read.
    #[must_use]
    pub fn budget_remaining(&self, run: &RunContext) -> Option<BudgetRemaining> {
        let slot = self.runs.slot(&run.run_id, self.ledger.as_ref()).ok()?;
        let hot = lock(&slot)?;
        let session_tokens = hot.session().map(Session::remaining);
        let budget = &run.settings.budget;
        let tool_calls = hot.state().meters.remaining_tool_calls(budget);
        Some(BudgetRemaining { tool_calls, session_tokens, ..left(&hot, budget) })
    }

    /// Sets aside what the call would need, and gives it back at once: the least strict mode that
    /// its session leaves.
    fn would_fit(
        &self,
        slot: &RunSlot,
        caller: Caller<'_>,
        mode: ResponseMode,
        needs: AttemptNeeds,
    ) -> Result<ResponseMode, Box<Contribution>> {
        let tokens = self.tokens_of_a_frame(slot, mode);
        let reservation =
            BudgetReservation::take(slot, &caller.run.settings.budget, tokens, needs)?;
        let mut share = TokenAllotment::default();
        share.reserve(self, slot, mode, reservation.tokens())?;
        Ok(share.floor().max(mode))
    }
}

impl DryRun {
    /// The verdict.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.decision.verdict()
    }
}
