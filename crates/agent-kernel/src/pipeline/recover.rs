//! Recovery after a crash: closes calls that have an intent and no recorded end.

use weaver_types::CallId;
use weaver_types::ledger::{Batch, Durability, MAX_PAGE, Namespace};

use super::run_update::RunUpdate;
use crate::cached_run::lock_run;
use crate::error::KernelError;
use crate::kernel::Kernel;
use crate::open_call::OpenCall;
use crate::wait::block_on;

impl Kernel {
    /// Closes every open call as "outcome unknown", never as a success and never by retrying it.
    pub(crate) fn close_open_calls(&self) -> Result<(), KernelError> {
        let tenant = &self.settings.tenant;
        loop {
            let page = self.ledger.list(tenant, Namespace::OpenCall, None, MAX_PAGE)?;
            if page.is_empty() {
                return Ok(());
            }
            for (id, record) in page {
                self.close_open_call(&id, &record.value)?;
            }
        }
    }

    /// Removes expired stored results with their blobs.
    pub(crate) fn remove_expired_results(&self) -> Result<(), KernelError> {
        loop {
            let delete = self.handles.sweep(self.now(), self.blobs.as_ref())?;
            if delete.is_empty() {
                return Ok(());
            }
            self.ledger.commit(Batch { delete, ..Batch::new(Durability::Os) }).wait()?;
        }
    }

    fn close_open_call(&self, id: &str, value: &[u8]) -> Result<(), KernelError> {
        let stored = |problem: String| KernelError::Stored { what: "an open call", problem };
        let call = CallId::parse(id).map_err(|error| stored(error.to_string()))?;
        let open = OpenCall::parse(value)?;
        let slot = self.runs.slot(&open.run, self.ledger.as_ref())?;
        let (delta, batch) = self
            .unknown_end_batch(&call, &open)
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
