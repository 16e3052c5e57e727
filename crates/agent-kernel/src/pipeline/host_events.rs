//! Records events other than calls: shortlists, early rejections, ends of runs, and the host's own
//! events.

use serde_json::{Map, Value, json};
use weaver_types::ledger::{Batch, Durability, LedgerError};
use weaver_types::{
    CallId, CapabilityId, CapabilityRequest, CheckResult, Decision, DecisionKey, EventKind,
    ReasonCode, Verdict,
};

use super::grant::{early_refusal, placeholder_call_id};
use super::run_update::{RunUpdate, RunUpdateError};
use crate::caller::Caller;
use crate::error::KernelError;
use crate::event_payload::{EventPayload, error_text};
use crate::invocation::Invocation;
use crate::kernel::Kernel;
use crate::run_state::RunDelta;

/// How many capabilities of a shortlist are recorded.
const MAX_SHORTLIST: usize = 64;

/// The summary of a finished run.
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
    /// Refuses a call that the host rejects before the kernel sees it, for example for malformed
    /// arguments or a tool whose server is gone. The refusal is recorded and charged like any
    /// other. A check result that allows counts as a denial.
    pub async fn reject(
        &self,
        caller: Caller<'_>,
        request: &CapabilityRequest,
        mut check_result: CheckResult,
    ) -> Invocation {
        if check_result.verdict == Verdict::Allow {
            check_result.verdict = Verdict::Deny;
        }
        let decision = Decision::join(vec![check_result], self.policy().basis().clone());
        let Ok(call) = CallId::random(self.random.as_ref()) else {
            return Invocation {
                call: placeholder_call_id(),
                decision,
                result: None,
                request: None,
            };
        };
        let evaluation = early_refusal(decision, self.slot_of(caller));
        let decision = self.finish_refusal(caller, request, &call, evaluation).await;
        self.refusal_invocation(caller, request, call, decision)
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
        let event = EventPayload::new()
            .with_caller(caller, &self.firewall)
            .with("goal", json!(error_text(&self.firewall, goal)))
            .with("shortlist", json!(shown))
            .with_run_delta(&RunDelta::default())
            .into_event(EventKind::Routed, self.now(), &caller.run.run_id, None)
            .ok_or_else(unrecordable_event)?;
        let batch = Batch::new(Durability::Os).with_event(event);
        match self
            .commit_run_update(RunUpdate::new(caller, &slot, RunDelta::default(), batch))
            .await
        {
            Ok(()) => Ok(()),
            Err(RunUpdateError::Ledger(error)) => Err(error.into()),
            Err(RunUpdateError::Budget(_)) => Err(unrecordable_event()),
        }
    }

    /// Records the end of a run.
    pub(crate) async fn finish_run(
        &self,
        caller: Caller<'_>,
        RunSummary { steps, failed, passed }: RunSummary,
    ) -> Result<(), RunUpdateError> {
        let run = &caller.run.run_id;
        let unreadable = |error: KernelError| LedgerError::Failed(error.to_string());
        let slot = self.runs.slot(run, self.ledger.as_ref()).map_err(unreadable)?;
        let event = EventPayload::new()
            .with_decision_key(DecisionKey::RunFinished)
            .with_caller(caller, &self.firewall)
            .with("steps", json!(steps))
            .with("failed", json!(failed))
            .with("passed", json!(passed))
            .with_run_delta(&RunDelta::default())
            .into_event(EventKind::RunFinished, self.now(), run, None)
            .ok_or_else(|| LedgerError::Malformed("the end has no recordable form".to_owned()))?;
        let batch = Batch::new(Durability::Os).with_event(event);
        self.commit_run_update(RunUpdate::new(caller, &slot, RunDelta::default(), batch)).await
    }

    /// Records an event of the host that belongs to no call. The fields are redacted; numbers
    /// among them are integers.
    ///
    /// # Errors
    /// [`KernelError`], when it could not be recorded.
    pub async fn record_host_event(
        &self,
        kind: EventKind,
        fields: Map<String, Value>,
    ) -> Result<(), KernelError> {
        let (fields, _) = self.firewall.redact_value(&Value::Object(fields));
        let event = EventPayload::new()
            .with("fields", fields)
            .into_global_event(kind, self.now())
            .ok_or_else(unrecordable_event)?;
        self.ledger.commit(Batch::new(Durability::Os).with_event(event)).await?;
        Ok(())
    }
}

pub(super) fn unrecordable_event() -> KernelError {
    KernelError::Stored {
        what: "an event",
        problem: format!("{}: it has no canonical form", ReasonCode::InternalError),
    }
}
