//! Observes preconditions when a call is decided, and compares them when it is made.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;
use weaver_policy::PolicySet;
use weaver_policy::approval::ObservedPrecondition;
use weaver_types::{
    CapabilityId, CheckKind, CheckResult, Precondition, ReasonCode, Remedy, Verdict,
};

use super::PolicyDecisionPoint;
use crate::event_payload::error_text;
use crate::precondition::{MAX_OBSERVATION_BYTES, PreconditionError};

impl PolicyDecisionPoint {
    /// Observes the preconditions of the capability; the error denies the call.
    pub(crate) fn observe_preconditions(
        &self,
        policy: &PolicySet,
        capability: &CapabilityId,
        arguments: Option<&Value>,
    ) -> Result<Vec<ObservedPrecondition>, Box<CheckResult>> {
        let mut observed_preconditions = Vec::new();
        for precondition in policy.preconditions(capability) {
            match self.observe_precondition(&precondition, arguments.unwrap_or(&Value::Null)) {
                Ok(value) => {
                    observed_preconditions.push(ObservedPrecondition { precondition, value })
                }
                Err(PreconditionError::Argument { .. }) if arguments.is_none() => {
                    let detail = format!("the precondition `{precondition}` needs the arguments");
                    let reason = ReasonCode::ArgumentsRequired;
                    let check_result =
                        CheckResult::new(CheckKind::Precondition, Verdict::Ask, reason, detail);
                    return Err(Box::new(check_result.with_remedy(Remedy::Arguments)));
                }
                Err(error) => {
                    let error = error_text(&self.context.firewall, &error.to_string());
                    let detail = format!("{precondition}: {error}");
                    return Err(Box::new(precondition_denial(&detail)));
                }
            }
        }
        Ok(observed_preconditions)
    }

    fn observe_precondition(
        &self,
        precondition: &Precondition,
        arguments: &Value,
    ) -> Result<String, PreconditionError> {
        let unreadable = |problem: &str| PreconditionError::Unreadable {
            what: precondition.to_string(),
            problem: problem.to_owned(),
        };
        let Some(checker) = &self.preconditions else {
            return Err(unreadable("no checker of preconditions is plugged in"));
        };
        let observe = AssertUnwindSafe(|| checker.observe(precondition, arguments));
        let value =
            catch_unwind(observe).unwrap_or_else(|_| Err(unreadable("its checker panicked")))?;
        if value.len() > MAX_OBSERVATION_BYTES {
            return Err(PreconditionError::TooLarge {
                what: precondition.to_string(),
                limit: u64::try_from(MAX_OBSERVATION_BYTES).unwrap_or(u64::MAX),
            });
        }
        Ok(value)
    }
}

/// The denial for the first precondition that changed.
pub(crate) fn changed_precondition_denial(
    before: &[ObservedPrecondition],
    now: &[ObservedPrecondition],
) -> Option<CheckResult> {
    let was = |observed: &ObservedPrecondition| {
        before.iter().find(|was| was.precondition == observed.precondition).map(|was| &was.value)
    };
    let changed = now.iter().find(|observed| was(observed) != Some(&observed.value))?;
    let expected = was(changed).map_or("nothing", String::as_str);
    let detail = format!(
        "{}: expected {expected}, observed {}; the world changed since the call was decided",
        changed.precondition, changed.value
    );
    Some(precondition_denial(&detail))
}

fn precondition_denial(detail: &str) -> CheckResult {
    let reason = ReasonCode::PreconditionFailed;
    CheckResult::new(CheckKind::Precondition, Verdict::Deny, reason, detail)
}
