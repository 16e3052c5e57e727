//! What a host records besides its calls.

use serde_json::{Map, Value};
use weaver_policy::approval::BeliefOutcome;
use weaver_policy::signal::{BeliefClass, ClassOutcomes};
use weaver_types::ledger::{Batch, NewEvent};
use weaver_types::{
    CallId, CapabilityId, CapabilityRequest, CheckResult, Decision, EventKind, PrincipalId, RunId,
    Verdict,
};

use super::refuse::refuse_early;
use crate::caller::Caller;
use crate::error::KernelError;
use crate::invocation::Invocation;
use crate::kernel::Kernel;
use crate::recorder::{EnteredRun, MemoryOperation, RunEndReason};
use crate::run_fault::RunFault;

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
        let decision = Decision::join(vec![check_result], self.context.policy().basis().clone());
        let Ok(call) = CallId::random(self.context.random.as_ref()) else {
            return Invocation::unnamed(decision);
        };
        refuse_early(&self.recorder, caller, request, call, decision).await
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
        self.recorder.record_shortlist(caller, goal, shortlist).await
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
        self.recorder.record_host_event(kind, fields).await
    }

    /// The event that [`Kernel::record_host_event`] records, for a host that commits it with a record
    /// of its own.
    ///
    /// # Errors
    /// [`KernelError`], when it has no recordable form.
    pub fn host_event(
        &self,
        kind: EventKind,
        fields: Map<String, Value>,
    ) -> Result<NewEvent, KernelError> {
        self.recorder.host_event(kind, fields)
    }

    /// Records that a host writes to memory or reads from it for a run, under the decision key
    /// `kernel.memory.put` or `kernel.memory.get`. The log gets the redacted ids and a salted
    /// commitment to the value. The label of what is read joins the label of the run, as a result's
    /// would. A dry run records nothing.
    ///
    /// # Errors
    /// [`KernelError`], when it could not be recorded; it must then not happen.
    pub async fn record_memory(
        &self,
        caller: Caller<'_>,
        note: MemoryOperation<'_>,
    ) -> Result<(), KernelError> {
        self.recorder.record_memory(caller, note).await
    }

    /// Records that a run is over, and why, under the decision key `kernel.run.finished`; `extra`
    /// is committed with it. For a run that never started only `extra` is committed. Nothing is
    /// revoked: a host may still continue the run.
    ///
    /// # Errors
    /// [`KernelError`], when it could not be recorded.
    pub async fn record_run_end(
        &self,
        caller: Caller<'_>,
        end: RunEndReason,
        extra: Batch,
    ) -> Result<(), KernelError> {
        self.recorder.record_run_end(caller, end, extra).await
    }

    /// The event that says that a client of the host works in a run from now on. A host commits it
    /// with its own record of that; [`Kernel::entered_run`] then detects a record that was removed
    /// or changed. `client` is a name that no other client of the tenant ever has.
    ///
    /// # Errors
    /// [`KernelError`], when it has no recordable form.
    pub fn run_entry_event(&self, client: &str, run: &RunId) -> Result<NewEvent, KernelError> {
        self.recorder.run_entry_event(client, run)
    }

    /// The run that a client entered last, according to the last 200,000 events of the log; `None`
    /// when they contain no entry or the end of that run.
    ///
    /// # Errors
    /// [`KernelError`], when the log cannot be read.
    pub fn entered_run(&self, client: &str) -> Result<Option<EnteredRun>, KernelError> {
        self.recorder.entered_run(client)
    }

    /// Why the record of a run is not accepted; `None` where it is, or where the ledger does not
    /// say. Every call of a run with a fault is denied.
    #[must_use]
    pub fn run_fault(&self, run: &RunId) -> Option<RunFault> {
        match self.recorder.slot(run) {
            Err(KernelError::UnprovenRun { fault, .. }) => Some(fault),
            _ => None,
        }
    }

    /// Records that the caller's run takes the place of one whose record is not accepted. Nothing
    /// is known of what that run was shown, so this one gets the strictest label.
    ///
    /// # Errors
    /// [`KernelError`], when it could not be recorded; the run must then not be used.
    pub async fn record_replacement(
        &self,
        caller: Caller<'_>,
        replaced: &RunId,
        fault: RunFault,
    ) -> Result<(), KernelError> {
        self.recorder.record_replacement(caller, replaced, fault).await
    }

    /// Records how a belief turned out: one event, and the sums of its class, which outlast the
    /// process. A signal source made with
    /// [`SignalMonitor::with_calibration`](weaver_policy::signal::SignalMonitor::with_calibration)
    /// uses these sums.
    ///
    /// # Errors
    /// [`KernelError`], when the class is no name, the confidence is above 1,000, or it could not
    /// be recorded.
    pub async fn record_outcome(
        &self,
        by: &PrincipalId,
        outcome: &BeliefOutcome,
    ) -> Result<(), KernelError> {
        self.recorder.record_outcome(by, outcome).await
    }

    /// The recorded outcomes of every class, in the order of the class names.
    ///
    /// # Errors
    /// [`KernelError`], when they cannot be read.
    pub fn outcomes(&self) -> Result<Vec<(BeliefClass, ClassOutcomes)>, KernelError> {
        self.recorder.outcomes()
    }

    /// Indexes the user's new statements, with one event for each. A statement that cannot be
    /// recorded does not count. A dry run records nothing.
    ///
    /// Every grant starts with this. A host may call it as soon as the user speaks, so that no
    /// decision waits while a long text is read.
    pub async fn ingest_statements(&self, caller: Caller<'_>) {
        self.recorder.ingest_statements(caller).await;
    }
}
