//! Checks whether the ledger accepts writes.

use std::time::Duration;

use weaver_types::ledger::{Batch, Durability, LedgerError, Namespace, RecordKey, RecordWrite};

use crate::serve::gateway::Gateway;

/// How long the ledger may take to answer a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Why the ledger accepts no writes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerProbeError {
    /// It refused the write.
    #[error("{0}")]
    Refused(#[source] LedgerError),
    /// It did not answer in time.
    #[error("the ledger has not answered within {} seconds", PROBE_TIMEOUT.as_secs())]
    Silent,
}

/// Writes a small record, because reads succeed on a full disk too, and an empty batch may write
/// nothing.
pub(super) async fn probe(gateway: &Gateway) -> Result<(), LedgerProbeError> {
    let key = RecordKey::new(gateway.tenant.clone(), Namespace::Probe, "ready");
    let mut batch = Batch::new(Durability::Os);
    batch.put.push(RecordWrite { key, value: b"{\"v\":1}".to_vec(), expires_at: None });
    let ticket = gateway.kernel.ledger().commit(batch);
    let answer = tokio::time::timeout(PROBE_TIMEOUT, ticket).await;
    answer.map_err(|_| LedgerProbeError::Silent)?.map(drop).map_err(LedgerProbeError::Refused)
}
