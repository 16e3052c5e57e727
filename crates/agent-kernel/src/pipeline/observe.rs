//! Preconditions: observed when a call is decided, compared when it is made.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;
use weaver_policy::PolicySet;
use weaver_policy::approval::ObservedPrecondition;
use weaver_types::{
    CapabilityId, Check, Contribution, Discharge, Precondition, ReasonCode, Verdict,
};

use crate::kernel::Kernel;
use crate::precondition::{MAX_OBSERVED, PreconditionError};

impl Kernel {
    /// What the preconditions of the capability are now; or why that cannot be told, which denies
    /// the call.
    pub(crate) fn facts(
        &self,
        policy: &PolicySet,
        capability: &CapabilityId,
        arguments: Option<&Value>,
    ) -> Result<Vec<ObservedPrecondition>, Box<Contribution>> {
        let mut facts = Vec::new();
        for precondition in policy.preconditions(capability) {
            match self.fact(&precondition, arguments.unwrap_or(&Value::Null)) {
                Ok(value) => facts.push(ObservedPrecondition { precondition, value }),
                Err(PreconditionError::Argument { .. }) if arguments.is_none() => {
                    let detail = format!("the precondition `{precondition}` needs the arguments");
                    let reason = ReasonCode::ArgumentsRequired;
                    let said = Contribution::new(Check::Precondition, Verdict::Ask, reason, detail);
                    return Err(Box::new(said.discharged_by(Discharge::Arguments)));
                }
                Err(error) => {
                    let detail = format!("{precondition}: {error}");
                    return Err(Box::new(failed(&detail)));
                }
            }
        }
        Ok(facts)
    }

    fn fact(
        &self,
        precondition: &Precondition,
        arguments: &Value,
    ) -> Result<String, PreconditionError> {
        let unreadable = |problem: &str| PreconditionError::Unreadable {
            what: precondition.to_string(),
            problem: problem.to_owned(),
        };
        let Some(checker) = &self.ports.preconditions else {
            return Err(unreadable("no checker of preconditions is plugged in"));
        };
        let observe = AssertUnwindSafe(|| checker.observe(precondition, arguments));
        let value =
            catch_unwind(observe).unwrap_or_else(|_| Err(unreadable("its checker panicked")))?;
        if value.len() > MAX_OBSERVED {
            return Err(PreconditionError::TooLarge {
                what: precondition.to_string(),
                limit: u64::try_from(MAX_OBSERVED).unwrap_or(u64::MAX),
            });
        }
        Ok(value)
    }
}

/// The first fact that is not what it was.
pub(crate) fn changed(
    before: &[ObservedPrecondition],
    now: &[ObservedPrecondition],
) -> Option<Contribution> {
    let was = |observed: &ObservedPrecondition| {
        before.iter().find(|was| was.precondition == observed.precondition).map(|was| &was.value)
    };
    let moved = now.iter().find(|observed| was(observed) != Some(&observed.value))?;
    let expected = was(moved).map_or("nothing", String::as_str);
    let detail = format!(
        "{}: expected {expected}, observed {}; the world changed since the call was decided",
        moved.precondition, moved.value
    );
    Some(failed(&detail))
}

fn failed(detail: &str) -> Contribution {
    let reason = ReasonCode::PreconditionFailed;
    Contribution::new(Check::Precondition, Verdict::Deny, reason, detail)
}
