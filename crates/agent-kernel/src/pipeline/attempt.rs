//! Executing: attempts within their time, again only where that is safe.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::time::Duration;

use weaver_types::{
    Confidentiality, Constraints, Integrity, Label, Millicents, RawResult, ReasonCode, RunBudget,
};

use super::authorized_invocation::AuthorizedInvocation;
use super::evaluate::Target;
use super::unfinished_calls::OpenCallGuard;
use crate::budget_reservation::AttemptNeeds;
use crate::cached_run::{RunSlot, lock};
use crate::driver::{AuthorizedCall, CallParts, DriverError, HostContext};
use crate::kernel::Kernel;
use crate::late_response::LateResponseSink;
use crate::wait::{contained, within};

/// A call that is asked to wait longer than this is not tried again.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// What the attempts came to.
pub(crate) struct AttemptResult {
    pub(crate) result: Result<RawResult, DriverError>,
    pub(crate) retries: u8,
    /// Why there was no further attempt although there could have been.
    pub(crate) stopped: Option<ReasonCode>,
}

impl Kernel {
    /// Executes a committed call. What it took stands in the watch.
    pub(crate) async fn attempt(
        &self,
        ready: &AuthorizedInvocation<'_>,
        watch: &mut OpenCallGuard<'_>,
    ) -> AttemptResult {
        let inner = self.authorized(ready, &watch.slot);
        let most = retries(&ready.target, &ready.caller.run.settings.budget);
        let mut retries = 0;
        loop {
            let result = self.try_once(ready, watch, &inner, retries).await;
            let again = result.as_ref().err().is_some_and(DriverError::is_transient);
            let wait = result.as_ref().err().and_then(DriverError::wait).unwrap_or_default();
            if !again || retries >= most || wait > LONGEST_WAIT {
                return AttemptResult { result, retries, stopped: None };
            }
            self.timer.sleep(self.backoff_delay(retries).max(wait)).await;
            let needs = attempt_needs(ready);
            let (checked, spent) = (self.check_still_authorized(ready), watch.spent_amounts());
            let reservation = checked.and_then(|()| match watch.reservation.as_mut() {
                Some(reservation) => {
                    reservation.again(spent, needs).map_err(|_| ReasonCode::BudgetExceeded)
                }
                None => Ok(()),
            });
            if let Err(reason) = reservation {
                return AttemptResult { result, retries, stopped: Some(reason) };
            }
            retries += 1;
        }
    }

    async fn try_once(
        &self,
        ready: &AuthorizedInvocation<'_>,
        watch: &mut OpenCallGuard<'_>,
        inner: &Arc<CallParts>,
        attempt: u8,
    ) -> Result<RawResult, DriverError> {
        let timeout = watch.time_left(attempt_needs(ready).time);
        let call = AuthorizedCall { inner: Arc::clone(inner), attempt, timeout };
        watch.begin();
        let work = contained(|| ready.target.entry.driver.execute(call));
        let result = match within(work, timeout, self.timer.as_ref()).await {
            Some(Some(result)) => result,
            // How far it came before it panicked is unknown.
            Some(None) => Err(DriverError::Lost("the tool's function panicked".to_owned())),
            None => Err(DriverError::Timeout(timeout)),
        };
        // What is cut off took its time and not more, however late the timer was.
        let cut = matches!(&result, Err(DriverError::Timeout(at)) if *at == timeout);
        watch.end(cut.then_some(timeout));
        let paid = match &result {
            Ok(raw) => raw.cost.unwrap_or_default(),
            Err(error) if error.is_ambiguous() => attempt_needs(ready).price,
            Err(_) => Millicents(0),
        };
        watch.paid = Millicents(watch.paid.0.saturating_add(paid.0));
        result
    }

    /// What a driver gets of a committed call.
    pub(crate) fn authorized(
        &self,
        ready: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
    ) -> Arc<CallParts> {
        let target = &ready.target;
        let arguments = ready.arguments.as_object().cloned().unwrap_or_default();
        let label = lock(slot).map(|run| run.state().label.clone());
        // A run that cannot be read may have seen anything.
        let worst = || Label::of(Confidentiality::Restricted, Integrity::Untrusted);
        Arc::new(CallParts {
            call: ready.call.clone(),
            run: ready.caller.run.run_id.clone(),
            host: HostContext::of(ready.caller.run),
            capability: Arc::clone(&target.capability),
            arguments,
            label: label.unwrap_or_else(worst),
            late: LateResponseSink {
                log: Arc::clone(&self.late),
                principal: ready.caller.principal.id.clone(),
                reported: AtomicU8::new(0),
            },
            progress: ready.progress.as_ref().map(|outlet| Arc::clone(&outlet.slot)),
        })
    }
}

/// What one attempt of this call may take.
pub(crate) fn attempt_needs(ready: &AuthorizedInvocation<'_>) -> AttemptNeeds {
    needs_of(&ready.target, &ready.limits)
}

/// What one attempt may take under these limits.
pub(crate) fn needs_of(target: &Target, limits: &Constraints) -> AttemptNeeds {
    // Where a driver panics here, no cap has room for it.
    let price = || target.entry.driver.price(target.capability.id());
    let price = catch_unwind(AssertUnwindSafe(price)).unwrap_or(Millicents(u64::MAX));
    AttemptNeeds { time: timeout(target, limits), price }
}

fn timeout(target: &Target, limits: &Constraints) -> Duration {
    let own = target.capability.spec().timeout_ms;
    Duration::from_millis(limits.timeout_ms.map_or(own, |limit| limit.min(own)).into())
}

/// Only what is idempotent is tried again.
fn retries(target: &Target, budget: &RunBudget) -> u8 {
    let spec = target.capability.spec();
    if spec.idempotent { spec.max_retries.min(budget.max_retries_per_tool) } else { 0 }
}
