//! Dry runs: the verdict that a call would get and what would be done. Nothing is executed,
//! recorded, charged or held.

use std::time::Duration;

use serde_json::Value;
use weaver_firewall::Session;
use weaver_types::{
    CheckResult, Decision, Millicents, ResponseMode, RunContext, RunMeters, Verdict,
};

use crate::budget_reservation::{
    AttemptNeeds, BudgetRemaining, BudgetReservation, budget_remaining,
};
use crate::cached_run::{RunSlot, lock_run};
use crate::caller::{Call, Caller};
use crate::decision_point::{Evaluation, EvaluationRequest, HypotheticalCall, joined_constraints};
use crate::executor::needs_under;
use crate::kernel::Kernel;
use crate::settings::Settings;
use crate::token_allotment::{TokenAllotment, max_frame_tokens};

/// What a call would do.
#[derive(Debug, Clone)]
pub struct DryRun {
    /// The decision that the call would get.
    pub decision: Decision,
    /// How much of the result would be shown at most: the requested mode, or a stricter one of a
    /// constraint or the session.
    pub mode: ResponseMode,
    /// What remains of the run's budgets; `None` when the run cannot be read.
    pub budget_remaining: Option<BudgetRemaining>,
    /// The driver that would execute the call; `None` when this caller has no such capability.
    pub driver: Option<String>,
    /// The arguments as they would be sent; `None` when they are invalid or were not given.
    pub arguments: Option<Value>,
    /// The time limit of an attempt.
    pub timeout: Option<Duration>,
    /// The most that an attempt could cost, if the driver knows.
    pub max_cost: Millicents,
}

impl Kernel {
    /// Decides on a call as [`Kernel::execute`] would and says what would be done. Nothing is
    /// executed, recorded or charged, no request is opened, and no resolver is asked.
    #[must_use]
    pub fn dry_run(&self, caller: Caller<'_>, call: Call<'_>) -> DryRun {
        self.decision_point
            .evaluate_hypothetically(caller, call, |hypothetical| self.dry_run_of(hypothetical))
    }

    fn dry_run_of(&self, hypothetical: HypotheticalCall<'_>) -> DryRun {
        let HypotheticalCall { evaluation_request, mode, evaluation, .. } = hypothetical;
        let EvaluationRequest { caller, request, .. } = evaluation_request;
        let Evaluation { mut decision, target, slot, .. } = *evaluation;
        let limits = joined_constraints(request, &decision);
        let mut shown_mode = limits.mode.map_or(mode, |least| least.max(mode));
        if let (Some(slot), Some(target), true) = (&slot, &target, decision.is_allowed()) {
            let needs = needs_under(target, &limits);
            match least_fitting_mode(&self.context.settings, slot, caller, shown_mode, needs) {
                Ok(least) => shown_mode = shown_mode.max(least),
                Err(check_result) => decision = decision.joined_with(*check_result),
            }
        }
        let visible_target = target.as_ref();
        let needs = visible_target.map(|target| needs_under(target, &limits)).unwrap_or_default();
        DryRun {
            mode: shown_mode,
            budget_remaining: self.budget_remaining(caller.run),
            driver: visible_target.map(|target| target.entry.driver.name().to_owned()),
            timeout: visible_target.map(|_| needs.time),
            max_cost: needs.max_cost,
            arguments: visible_target
                .filter(|target| target.arguments.is_some())
                .and_then(|_| {
                    evaluation_request
                        .masks
                        .map(|masks| &masks.as_written)
                        .or(evaluation_request.arguments)
                })
                .cloned(),
            decision,
        }
    }

    /// What a run has used so far. `None` when it cannot be read.
    #[must_use]
    pub fn run_meters(&self, run: &RunContext) -> Option<RunMeters> {
        let slot = self.recorder.slot(&run.run_id).ok()?;
        Some(lock_run(&slot)?.state().meters)
    }

    /// What remains of the budgets of a run. `None` when the run cannot be read.
    #[must_use]
    pub fn budget_remaining(&self, run: &RunContext) -> Option<BudgetRemaining> {
        let slot = self.recorder.slot(&run.run_id).ok()?;
        let run_state = lock_run(&slot)?;
        let session_tokens = run_state.session().map(Session::remaining);
        let budget = &run.settings.budget;
        let tool_calls = run_state.state().meters.remaining_tool_calls(budget);
        Some(BudgetRemaining { tool_calls, session_tokens, ..budget_remaining(&run_state, budget) })
    }
}

impl DryRun {
    /// The verdict.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.decision.verdict()
    }
}

/// Reserves what the call would need and releases it at once. Returns the least strict mode
/// that the session allows.
fn least_fitting_mode(
    settings: &Settings,
    slot: &RunSlot,
    caller: Caller<'_>,
    mode: ResponseMode,
    needs: AttemptNeeds,
) -> Result<ResponseMode, Box<CheckResult>> {
    let tokens = max_frame_tokens(settings, slot, mode);
    let reservation =
        BudgetReservation::for_first_attempt(slot, &caller.run.settings.budget, tokens, needs)?;
    let mut allotment = TokenAllotment::default();
    allotment.reserve(settings, slot, mode, reservation.tokens())?;
    Ok(allotment.min_mode().max(mode))
}
