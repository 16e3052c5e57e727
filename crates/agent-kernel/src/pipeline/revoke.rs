//! Revoking what was granted.

use serde_json::json;
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{EventKind, PrincipalId};

use super::RevocationSubject;
use crate::error::KernelError;
use crate::kernel::Kernel;
use crate::record::Payload;

impl Kernel {
    /// Voids what was granted up to now to a token, principal or run: tokens and stored results.
    /// It holds across restarts.
    ///
    /// # Errors
    /// [`KernelError`], when it could not be recorded; it then holds until this process ends.
    pub async fn revoke(
        &self,
        subject: RevocationSubject,
        by: &PrincipalId,
    ) -> Result<(), KernelError> {
        let now = self.now();
        let put = self.revocations.revoke(&self.settings.tenant, &subject, now);
        let event = Payload::new()
            .with("tenant", json!(self.settings.tenant))
            .with("subject", json!(subject.record_id()))
            .with("principal", json!(by))
            .loose_event(EventKind::Revoked, now)
            .ok_or_else(|| KernelError::Stored {
                what: "a revocation",
                problem: "it has no recordable form".to_owned(),
            })?;
        let mut batch = Batch::new(Durability::Disk).with_event(event);
        batch.put.push(put);
        self.ledger.commit(batch).await?;
        self.end_all(&subject, by.as_str()).await;
        Ok(())
    }
}
