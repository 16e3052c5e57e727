//! Executing: attempts within their time, again only where that is safe.

use std::sync::Arc;
use std::time::Duration;

use weaver_types::{Constraints, RawResult, RunBudget};

use super::evaluate::Target;
use super::invoke::Ready;
use crate::driver::{AuthorizedCall, CallParts, DriverError};
use crate::kernel::Kernel;
use crate::wait::{contained, within};

/// The pause before the first retry; each further one is twice as long.
const BACKOFF: Duration = Duration::from_millis(50);

/// What the attempts came to.
pub(crate) struct Attempted {
    pub(crate) result: Result<RawResult, DriverError>,
    pub(crate) retries: u8,
    /// Execution time of all attempts, pauses excluded.
    pub(crate) spent: Duration,
}

impl Kernel {
    pub(crate) async fn attempt(&self, ready: &Ready<'_>) -> Attempted {
        let target = &ready.target;
        let inner = authorized(ready);
        let most = retries(target, &ready.caller.run.settings.budget);
        let mut spent = Duration::ZERO;
        let mut attempt = 0;
        loop {
            let call = AuthorizedCall { inner: Arc::clone(&inner), attempt };
            let begun = self.clock.monotonic();
            let work = contained(|| target.entry.driver.execute(call));
            let result = match within(work, inner.timeout, self.timer.as_ref()).await {
                Some(Some(result)) => result,
                // How far it came before it panicked is unknown.
                Some(None) => Err(DriverError::Lost("the tool's function panicked".to_owned())),
                None => Err(DriverError::Timeout(inner.timeout)),
            };
            spent += self.clock.monotonic().saturating_sub(begun);
            match &result {
                Err(error)
                    if error.is_transient() && attempt < most && !self.is_revoked(ready.claims) =>
                {
                    self.timer.sleep(BACKOFF * 2_u32.saturating_pow(attempt.into())).await;
                    attempt += 1;
                }
                _ => return Attempted { result, retries: attempt, spent },
            }
        }
    }
}

/// What a driver gets of a committed call.
pub(crate) fn authorized(ready: &Ready<'_>) -> Arc<CallParts> {
    let target = &ready.target;
    let arguments = target.arguments.as_ref().map(|a| a.object.clone()).unwrap_or_default();
    Arc::new(CallParts {
        call: ready.call.clone(),
        run: ready.caller.run.run_id.clone(),
        capability: target.capability.id().clone(),
        arguments,
        timeout: timeout(target, &ready.limits()),
    })
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
