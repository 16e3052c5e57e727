//! What is recorded beside the calls: shortlists, refusals at the door, the host's own events.

use serde_json::{Map, Value, json};
use weaver_types::ledger::{Batch, Durability, LedgerError};
use weaver_types::{
    CallId, CapabilityId, CapabilityRequest, Contribution, Decision, DecisionKey, EventKind,
    ReasonCode, Verdict,
};

use super::grant::{early, unnamed};
use super::transition::{Step, StepError};
use crate::caller::Caller;
use crate::error::KernelError;
use crate::invocation::Invocation;
use crate::kernel::Kernel;
use crate::record::{Payload, error_text};
use crate::run_state::RunDelta;

/// How many capabilities of a shortlist are recorded.
const MAX_SHORTLIST: usize = 64;

/// What came of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunSummary {
    /// How many steps it had.
    pub(crate) steps: usize,
    /// How many of them failed.
    pub(crate) failed: usize,
    /// Whether its critique passed it.
    pub(crate) passed: bool,
}

impl Kernel {
    /// Refuses a call that never became one: malformed arguments, a tool whose server is gone.
    /// The refusal is recorded and charged like any other. A contribution that says allow counts
    /// as a denial.
    pub async fn reject(
        &self,
        caller: Caller<'_>,
        request: &CapabilityRequest,
        mut contribution: Contribution,
    ) -> Invocation {
        if contribution.verdict == Verdict::Allow {
            contribution.verdict = Verdict::Deny;
        }
        let decision = Decision::join(vec![contribution], self.policy().basis().clone());
        let Ok(call) = CallId::random(self.random.as_ref()) else {
            return Invocation { call: unnamed(), decision, result: None, request: None };
        };
        let evaluated = early(decision, self.slot_of(caller));
        let decision = self.refuse(caller, request, &call, evaluated).await;
        self.refused(caller, request, call, decision)
    }

    /// Records the shortlist that a model was shown for a goal. A dry run records nothing.
    ///
    /// # Errors
    /// [`KernelError`], when it could not be recorded; the shortlist must then not be shown.
    pub async fn record_shortlist(
        &self,
        caller: Caller<'_>,
        goal: &str,
        shortlist: &[CapabilityId],
    ) -> Result<(), KernelError> {
        if caller.run.dry_run {
            return Ok(());
        }
        let run = &caller.run.run_id;
        let slot = self.runs.slot(run, self.ledger.as_ref())?;
        let shown: Vec<&CapabilityId> = shortlist.iter().take(MAX_SHORTLIST).collect();
        let event = Payload::new()
            .caller(caller, &self.firewall)
            .with("goal", json!(error_text(&self.firewall, goal)))
            .with("shortlist", json!(shown))
            .run(&RunDelta::default())
            .event(EventKind::Routed, self.now(), &caller.run.run_id, None)
            .ok_or_else(unrecordable)?;
        let batch = Batch::new(Durability::Os).with_event(event);
        match self.step(Step::new(caller, &slot, RunDelta::default(), batch)).await {
            Ok(()) => Ok(()),
            Err(StepError::Ledger(error)) => Err(error.into()),
            Err(StepError::Budget(_)) => Err(unrecordable()),
        }
    }

    /// Records that a run came to its end.
    pub(crate) async fn finish_run(
        &self,
        caller: Caller<'_>,
        RunSummary { steps, failed, passed }: RunSummary,
    ) -> Result<(), StepError> {
        let run = &caller.run.run_id;
        let unread = |error: KernelError| LedgerError::Failed(error.to_string());
        let slot = self.runs.slot(run, self.ledger.as_ref()).map_err(unread)?;
        let event = Payload::new()
            .key(DecisionKey::RunFinished)
            .caller(caller, &self.firewall)
            .with("steps", json!(steps))
            .with("failed", json!(failed))
            .with("passed", json!(passed))
            .run(&RunDelta::default())
            .event(EventKind::RunFinished, self.now(), run, None)
            .ok_or_else(|| LedgerError::Malformed("the end has no recordable form".to_owned()))?;
        let batch = Batch::new(Durability::Os).with_event(event);
        self.step(Step::new(caller, &slot, RunDelta::default(), batch)).await
    }

    /// Records an event of the host that belongs to no call. The fields are redacted; numbers
    /// among them are integers.
    ///
    /// # Errors
    /// [`KernelError`], when it could not be recorded.
    pub async fn note(
        &self,
        kind: EventKind,
        fields: Map<String, Value>,
    ) -> Result<(), KernelError> {
        let (fields, _) = self.firewall.redact_value(&Value::Object(fields));
        let event = Payload::new()
            .with("fields", fields)
            .loose_event(kind, self.now())
            .ok_or_else(unrecordable)?;
        self.ledger.commit(Batch::new(Durability::Os).with_event(event)).await?;
        Ok(())
    }
}

pub(super) fn unrecordable() -> KernelError {
    KernelError::Stored {
        what: "an event",
        problem: format!("{}: it has no canonical form", ReasonCode::InternalError),
    }
}
