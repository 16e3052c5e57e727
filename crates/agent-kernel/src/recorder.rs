//! The recorder: everything that writes about a run to the log.
//!
//! Each write is one update of a run: its events and its new record in one batch
//! ([`run_update`]). The recorder also keeps the ends of calls that are not committed yet, and
//! records them before anything else is executed.

mod calibrate;
mod defer_end;
mod deferred_ends;
mod host_events;
mod logged_explanation;
mod memory;
mod open_call;
mod open_call_guard;
mod provenance_update;
mod recent_explanations;
mod record_ends;
mod recover;
mod run_end;
mod run_entry;
mod run_replacement;
mod run_update;
mod signal;
mod statements;
mod unrecorded_ends;

use std::sync::Arc;

use weaver_policy::signal::SignalMonitor;
use weaver_types::{CallId, Principal, RunId};

pub use memory::{MemoryAccess, MemoryOperation};
pub use run_end::RunEndReason;
pub use run_entry::EnteredRun;

pub(crate) use host_events::RunSummary;
pub(crate) use open_call::OpenCall;
pub(crate) use open_call_guard::OpenCallGuard;
pub(crate) use provenance_update::ProvenanceUpdate;
pub(crate) use run_update::{RecordingError, RunUpdate, RunUpdateError};
pub(crate) use signal::CallSummary;

use crate::cached_run::{RunCache, RunSlot};
use crate::caller::Caller;
use crate::context::KernelContext;
use crate::error::KernelError;
use crate::invocation::Explanation;
use crate::telemetry::Telemetry;
use deferred_ends::DeferredEnds;
use recent_explanations::RecentExplanations;
use unrecorded_ends::UnrecordedEnds;

/// Records what happens in runs: the one place in which a run's state changes.
pub(crate) struct RunRecorder {
    pub(crate) context: Arc<KernelContext>,
    pub(crate) telemetry: Telemetry,
    runs: RunCache,
    /// The signal sources, which are notified of what is recorded.
    signals: Arc<SignalMonitor>,
    deferred_ends: DeferredEnds,
    unrecorded_ends: UnrecordedEnds,
    pub(crate) explanations: RecentExplanations,
}

impl RunRecorder {
    pub(crate) fn new(
        context: Arc<KernelContext>,
        runs: RunCache,
        signals: Arc<SignalMonitor>,
    ) -> Self {
        Self {
            context,
            telemetry: Telemetry::default(),
            runs,
            signals,
            deferred_ends: DeferredEnds::default(),
            unrecorded_ends: UnrecordedEnds::default(),
            explanations: RecentExplanations::default(),
        }
    }

    /// The slot of a run, whose state is read from the ledger unless it is in memory.
    pub(crate) fn slot(&self, run: &RunId) -> Result<RunSlot, KernelError> {
        self.runs.slot(run, self.context.ledger.as_ref())
    }

    /// The slot of the caller's run, if its state can be read.
    pub(crate) fn slot_of(&self, caller: Caller<'_>) -> Option<RunSlot> {
        self.slot(&caller.run.run_id).ok()
    }

    /// Reads what other writers have added to the log.
    pub(crate) fn read_log(&self) -> Result<(), KernelError> {
        self.runs.read_log(self.context.ledger.as_ref())
    }

    /// Explains a call to the principal that made it, or to an admin.
    pub(crate) fn explain(&self, principal: &Principal, call: &CallId) -> Option<Arc<Explanation>> {
        let (ledger, tenant) = (self.context.ledger.as_ref(), &self.context.settings.tenant);
        if principal.tenant != *tenant {
            return None;
        }
        let in_log = || logged_explanation::read_from_log(ledger, tenant, call);
        let explanation = self.explanations.of(call).or_else(in_log)?;
        let may_know = explanation.principal == principal.id || principal.has_role("admin");
        may_know.then(|| Arc::new(explanation))
    }
}
