//! Recovery: calls that were begun before a crash, and whose end nobody saw.

use weaver_types::CallId;
use weaver_types::ledger::{Batch, Durability, MAX_PAGE, Namespace};

use super::transition::Step;
use crate::cached_run::lock;
use crate::error::KernelError;
use crate::kernel::Kernel;
use crate::open_call::OpenCall;
use crate::wait::block_on;

impl Kernel {
    /// Closes every open call as "outcome unknown". Never as a success, and never by trying again.
    pub(crate) fn recover(&self) -> Result<(), KernelError> {
        let tenant = &self.settings.tenant;
        loop {
            let page = self.ledger.list(tenant, Namespace::OpenCall, None, MAX_PAGE)?;
            if page.is_empty() {
                return Ok(());
            }
            for (id, record) in page {
                self.close(&id, &record.value)?;
            }
        }
    }

    /// Removes the stored results that have ended, with their bytes.
    pub(crate) fn remove_ended(&self) -> Result<(), KernelError> {
        loop {
            let delete = self.handles.sweep(self.now(), self.blobs.as_ref())?;
            if delete.is_empty() {
                return Ok(());
            }
            self.ledger.commit(Batch { delete, ..Batch::new(Durability::Os) }).wait()?;
        }
    }

    fn close(&self, id: &str, value: &[u8]) -> Result<(), KernelError> {
        let stored = |problem: String| KernelError::Stored { what: "an open call", problem };
        let call = CallId::parse(id).map_err(|error| stored(error.to_string()))?;
        let open = OpenCall::read(value)?;
        let slot = self.runs.slot(&open.run, self.ledger.as_ref())?;
        let (delta, batch) = self
            .unknown_end(&call, &open)
            .ok_or_else(|| stored("it has no recordable form".to_owned()))?;
        let (run, slot) = (&open.run, &slot);
        let step = Step::of_nobody(run, slot, delta, batch);
        block_on(self.step(step)).map_err(|error| stored(error.to_string()))?;
        if let Some(session) = lock(slot).and_then(|run| run.session().cloned()) {
            session.charge(open.tokens);
        }
        Ok(())
    }
}
