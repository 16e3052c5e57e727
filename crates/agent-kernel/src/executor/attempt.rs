//! Executes a call: attempts within their time limit, retried only when that is safe.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::time::Duration;

use weaver_types::{
    Confidentiality, Constraints, Integrity, Label, Millicents, RawResult, ReasonCode, RunBudget,
};

use super::CallExecutor;
use crate::authorized_invocation::AuthorizedInvocation;
use crate::budget_reservation::AttemptNeeds;
use crate::cached_run::{RunSlot, lock_run};
use crate::decision_point::CallTarget;
use crate::driver::{AuthorizedCall, CallParts, DriverError, HostContext};
use crate::late_response::CallLateResponses;
use crate::recorder::OpenCallGuard;
use crate::wait::{catch_future_panic, with_timeout};

/// A call whose server asks for a longer pause is not retried.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(5);

/// The result of all attempts of a call.
pub(crate) struct AttemptsResult {
    pub(crate) result: Result<RawResult, DriverError>,
    pub(crate) retries: u8,
    /// Why a possible retry was not made.
    pub(crate) retry_stopped: Option<ReasonCode>,
}

impl CallExecutor {
    /// Executes a committed call with its retries. Time and cost are added up in the guard.
    pub(crate) async fn execute_with_retries(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        guard: &mut OpenCallGuard<'_>,
    ) -> AttemptsResult {
        let parts = self.call_parts(invocation, &guard.slot);
        let most = max_retries(&invocation.target, &invocation.caller.run.settings.budget);
        let mut retries = 0;
        loop {
            let result = self.attempt_once(invocation, guard, &parts, retries).await;
            let may_retry = result.as_ref().err().is_some_and(DriverError::is_transient);
            let wait = result.as_ref().err().and_then(DriverError::retry_after).unwrap_or_default();
            if !may_retry || retries >= most || wait > MAX_RETRY_WAIT {
                return AttemptsResult { result, retries, retry_stopped: None };
            }
            self.context.timer.sleep(self.backoff_delay(retries).max(wait)).await;
            let needs = attempt_needs(invocation);
            let (claims, decision) = (invocation.claims, &invocation.decision);
            let checked = self.decision_point.check_still_authorized(claims, decision);
            let spent = guard.spent_amounts();
            let reservation = checked.and_then(|()| match guard.reservation.as_mut() {
                Some(reservation) => reservation
                    .renew_for_attempt(spent, needs)
                    .map_err(|_| ReasonCode::BudgetExceeded),
                None => Ok(()),
            });
            if let Err(reason) = reservation {
                return AttemptsResult { result, retries, retry_stopped: Some(reason) };
            }
            retries += 1;
        }
    }

    async fn attempt_once(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        guard: &mut OpenCallGuard<'_>,
        parts: &Arc<CallParts>,
        attempt: u8,
    ) -> Result<RawResult, DriverError> {
        let timeout = guard.time_left(attempt_needs(invocation).time);
        let call = AuthorizedCall { parts: Arc::clone(parts), attempt, timeout };
        guard.start_attempt();
        let work = catch_future_panic(|| invocation.target.entry.driver.execute(call));
        let result = match with_timeout(work, timeout, self.context.timer.as_ref()).await {
            Some(Some(result)) => result,
            // How far the function got before it panicked is unknown.
            Some(None) => Err(DriverError::Lost("the tool's function panicked".to_owned())),
            None => Err(DriverError::Timeout(timeout)),
        };
        // An attempt that was cut off is charged its time limit and no more, however late the timer
        // fired.
        let was_cut_off = matches!(&result, Err(DriverError::Timeout(at)) if *at == timeout);
        guard.end_attempt(was_cut_off.then_some(timeout));
        let cost = match &result {
            Ok(raw) => raw.cost.unwrap_or_default(),
            Err(error) if error.is_ambiguous() => attempt_needs(invocation).max_cost,
            Err(_) => Millicents(0),
        };
        guard.cost = Millicents(guard.cost.0.saturating_add(cost.0));
        result
    }

    /// The parts of a committed call that a driver gets.
    pub(crate) fn call_parts(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
    ) -> Arc<CallParts> {
        let target = &invocation.target;
        let arguments = invocation.arguments.as_object().cloned().unwrap_or_default();
        let label = lock_run(slot).map(|run| run.state().label.clone());
        // A run whose state cannot be read may have seen anything.
        let worst = || Label::new(Confidentiality::Restricted, Integrity::Untrusted);
        Arc::new(CallParts {
            call: invocation.call.clone(),
            run: invocation.caller.run.run_id.clone(),
            folder: target.folder.clone(),
            host: HostContext::of(invocation.caller.run),
            capability: Arc::clone(&target.capability),
            arguments,
            label: label.unwrap_or_else(worst),
            late_responses: CallLateResponses {
                log: Arc::clone(&self.late_responses),
                principal: invocation.caller.principal.id.clone(),
                reported_attempts: AtomicU8::new(0),
            },
            progress: invocation.progress.as_ref().map(|outlet| Arc::clone(&outlet.slot)),
        })
    }
}

/// The time and money that one attempt of this call may take.
pub(crate) fn attempt_needs(invocation: &AuthorizedInvocation<'_>) -> AttemptNeeds {
    needs_under(&invocation.target, &invocation.limits)
}

/// The time and money that one attempt may take under these limits.
pub(crate) fn needs_under(target: &CallTarget, limits: &Constraints) -> AttemptNeeds {
    // If the driver panics here, the price exceeds every cap.
    let price = || target.entry.driver.max_cost(target.capability.id());
    let price = catch_unwind(AssertUnwindSafe(price)).unwrap_or(Millicents(u64::MAX));
    AttemptNeeds { time: timeout(target, limits), max_cost: price }
}

fn timeout(target: &CallTarget, limits: &Constraints) -> Duration {
    let tool_limit = target.capability.spec().timeout_ms;
    Duration::from_millis(
        limits.timeout_ms.map_or(tool_limit, |limit| limit.min(tool_limit)).into(),
    )
}

/// Only idempotent calls are retried.
fn max_retries(target: &CallTarget, budget: &RunBudget) -> u8 {
    let spec = target.capability.spec();
    if spec.idempotent { spec.max_retries.min(budget.max_retries_per_tool) } else { 0 }
}
