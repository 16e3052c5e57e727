//! Recovery after a crash: closes calls that have an intent and no recorded end.

use weaver_types::CallId;
use weaver_types::ledger::{MAX_PAGE, Namespace};

use super::RunRecorder;
use super::open_call::OpenCall;
use super::run_update::RunUpdate;
use super::unrecorded_ends::EarlyEnd;
use crate::cached_run::lock_run;
use crate::error::KernelError;
use crate::wait::block_on;

impl RunRecorder {
    /// Closes every open call as "outcome unknown", never as a success and never by retrying it.
    pub(crate) fn close_open_calls(&self) -> Result<(), KernelError> {
        let tenant = &self.context.settings.tenant;
        loop {
            let page = self.context.ledger.list(tenant, Namespace::OpenCall, None, MAX_PAGE)?;
            if page.is_empty() {
                return Ok(());
            }
            for (id, record) in page {
                self.close_open_call(&id, &record.value)?;
            }
        }
    }

    fn close_open_call(&self, id: &str, value: &[u8]) -> Result<(), KernelError> {
        let stored = |problem: String| KernelError::StoredRecord { what: "an open call", problem };
        let call = CallId::parse(id).map_err(|error| stored(error.to_string()))?;
        let open = OpenCall::parse(value)?;
        let slot = self.slot(&open.run)?;
        let (delta, batch) = self
            .early_end_batch(&call, &open, EarlyEnd::UNKNOWN)
            .ok_or_else(|| stored("it has no recordable form".to_owned()))?;
        let (run, slot) = (&open.run, &slot);
        let update = RunUpdate::without_caller(run, slot, delta, batch);
        block_on(self.commit_run_update(update)).map_err(|error| stored(error.to_string()))?;
        if let Some(session) = lock_run(slot).and_then(|run| run.session().cloned()) {
            session.charge(open.tokens);
        }
        Ok(())
    }
}
