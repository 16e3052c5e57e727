//! Stores results behind handles.

use weaver_firewall::handle::{HandleGrant, StoredHandle};
use weaver_firewall::{FrameSpec, HandleError};
use weaver_types::RawResult;
use weaver_types::ledger::{Batch, Durability};

use super::ResultPipeline;
use super::result_label;
use crate::authorized_invocation::AuthorizedInvocation;
use crate::error::KernelError;

impl ResultPipeline {
    /// Stores a result behind a handle. If that fails, a finding says so.
    pub(crate) fn store_result(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        spec: &FrameSpec<'_>,
        raw: &mut RawResult,
    ) -> Option<StoredHandle> {
        let grant = HandleGrant {
            tenant: &self.context.settings.tenant,
            principal: &invocation.caller.principal.id,
            run: &invocation.caller.run.run_id,
            call: &invocation.call,
            capability: &invocation.target.capability,
            constraints: spec.constraints,
            pii_reader: spec.pii_reader,
            label: &result_label::joined_with_source(
                invocation.worst_label.clone(),
                raw.label.as_ref(),
            ),
            views: self.context.firewall.views(),
            now: spec.now,
        };
        match self.handles.store(raw, grant, self.blobs.as_ref(), self.context.random.as_ref()) {
            Ok(stored) => Some(stored),
            Err(error) => {
                raw.findings.push(match error {
                    HandleError::TooLarge { .. } => "not_stored_too_large",
                    _ => "not_stored",
                });
                None
            }
        }
    }

    /// Keeps a recorded result open for later queries.
    pub(crate) fn keep_open(&self, stored: &StoredHandle, raw: RawResult) {
        self.handles.keep_open(stored, raw);
    }

    /// Takes back a stored result whose record was not committed.
    pub(crate) fn rollback(&self, stored: &StoredHandle) {
        self.handles.rollback(stored, self.blobs.as_ref());
    }

    /// Removes expired stored results with their blobs.
    pub(crate) fn remove_expired_results(&self) -> Result<(), KernelError> {
        loop {
            let delete = self.handles.sweep(self.context.now(), self.blobs.as_ref())?;
            if delete.is_empty() {
                return Ok(());
            }
            self.context.ledger.commit(Batch { delete, ..Batch::new(Durability::Os) }).wait()?;
        }
    }
}
