//! A step of a run: its change, its snapshot and its events in one batch.

use serde_json::json;
use weaver_types::ledger::{Batch, LedgerError, Ticket};
use weaver_types::{DecisionKey, EventKind};

use crate::kernel::{Caller, Kernel};
use crate::record::{Payload, error_text};
use crate::run_state::{HotRun, RunDelta, RunSlot, lock, put};

impl Kernel {
    /// Applies `delta` to the run and submits `batch` with the new snapshot. The order of
    /// submissions of one run is the order of its states.
    pub(crate) fn step(
        &self,
        caller: Caller<'_>,
        slot: &RunSlot,
        delta: &RunDelta,
        batch: Batch,
    ) -> Result<Ticket, LedgerError> {
        let mut hot = lock(slot)
            .ok_or_else(|| LedgerError::Failed("the run's state is unusable".to_owned()))?;
        self.step_locked(caller, &mut hot, delta, batch)
    }

    /// As [`Kernel::step`], for whoever holds the run already.
    pub(crate) fn step_locked(
        &self,
        caller: Caller<'_>,
        hot: &mut HotRun,
        delta: &RunDelta,
        mut batch: Batch,
    ) -> Result<Ticket, LedgerError> {
        let malformed =
            || LedgerError::Malformed("the run's state has no canonical form".to_owned());
        let next = hot.state.clone().after(delta);
        batch
            .put
            .push(put(&self.settings.tenant, &caller.run.run_id, &next).ok_or_else(malformed)?);
        if hot.fresh {
            let started = Payload::new()
                .key(DecisionKey::RunStarted)
                .who(caller.principal)
                .with("run_agent", json!(caller.run.agent))
                .with("intent", json!(error_text(&self.firewall, &caller.run.settings.intent)))
                .with("safety_mode", json!(caller.run.settings.safety_mode))
                .with("trace_id", json!(caller.run.trace_id))
                .event(EventKind::RunStarted, self.clock.now(), &caller.run.run_id, None)
                .ok_or_else(malformed)?;
            batch.events.insert(0, started);
        }
        let ticket = self.ledger.commit(batch);
        hot.state = next;
        hot.fresh = false;
        Ok(ticket)
    }
}
