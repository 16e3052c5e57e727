//! Recovery after a crash: closes calls that have an intent and no recorded end.

use weaver_types::CallId;
use weaver_types::ledger::{MAX_PAGE, Namespace};

use super::RunRecorder;
use super::open_call::OpenCall;
use super::unrecorded_ends::EarlyEnd;
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
        let (delta, batch) = self
            .early_end_batch(&call, &open, EarlyEnd::UNKNOWN)
            .ok_or_else(|| stored("it has no recordable form".to_owned()))?;
        block_on(self.commit_early_end(&open, delta, batch))
            .map_err(|error| stored(error.to_string()))
    }
}
