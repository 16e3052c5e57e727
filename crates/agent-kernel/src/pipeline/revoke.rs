//! Revokes grants.

use serde_json::json;
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{EventKind, PrincipalId};

use super::RevocationSubject;
use crate::error::KernelError;
use crate::event_payload::EventPayload;
use crate::kernel::Kernel;

impl Kernel {
    /// Voids everything granted so far to a token, principal or run: tokens and stored results. It
    /// survives restarts.
    ///
    /// # Errors
    /// [`KernelError`], when it could not be recorded; it then holds until this process ends.
    pub async fn revoke(
        &self,
        subject: RevocationSubject,
        by: &PrincipalId,
    ) -> Result<(), KernelError> {
        let now = self.context.now();
        let put = self.revocations.revoke(&self.context.settings.tenant, &subject, now);
        let event = EventPayload::new()
            .with("tenant", json!(self.context.settings.tenant))
            .with("subject", json!(subject.record_id()))
            .with("principal", json!(by))
            .into_global_event(EventKind::Revoked, now)
            .ok_or_else(|| KernelError::Stored {
                what: "a revocation",
                problem: "it has no recordable form".to_owned(),
            })?;
        let mut batch = Batch::new(Durability::Disk).with_event(event);
        batch.put.push(put);
        self.context.ledger.commit(batch).await?;
        self.approvals.end_requests_of(&subject, by.as_str()).await;
        Ok(())
    }
}
