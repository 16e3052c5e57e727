//! Measures a gateway for its metrics.

use crate::expiry;
use crate::publish::status::{PublishStatus, key};
use crate::serve::gateway::Gateway;
use crate::telemetry::{CheckpointHealth, Measurements, StoreSizes};

/// The measurements of this moment.
pub(super) fn measure(gateway: &Gateway) -> Measurements {
    let (config, kernel) = (&gateway.config, &gateway.kernel);
    let mut expiries = expiry::of_documents(&kernel.policy());
    expiries.extend(expiry::of_certificate(config));
    expiries.extend(expiry::of_clients(&config.store_path));
    expiries.sort();
    Measurements {
        now: kernel.expiry_time(),
        approvals: kernel.approval_counts(),
        oldest_held: kernel.oldest_open_request(),
        store: StoreSizes::of(&config.store_path),
        checkpoints: checkpoint_health(gateway),
        expiries,
    }
}

fn checkpoint_health(gateway: &Gateway) -> Option<CheckpointHealth> {
    let failures = gateway.publish_failures.as_ref()?;
    let ledger = gateway.kernel.ledger();
    let record = ledger.read(&key()).ok().flatten();
    let status = record.and_then(|record| PublishStatus::parse(&record).ok()).unwrap_or_default();
    let signed = status.signed.as_ref();
    let committed = ledger.head().map_or(0, |head| head.size);
    let arrived: Option<Vec<_>> = status.targets.values().map(|target| target.at).collect();
    let failing = status.targets.values().filter(|target| target.failed.is_some()).count();
    Some(CheckpointHealth {
        signing_failures: failures.signing.get(),
        publishing_failures: failures.publishing.get(),
        signed_at: signed.map(|signed| signed.at),
        published_at: arrived.and_then(|arrived| arrived.into_iter().min()),
        failing_targets: u64::try_from(failing).unwrap_or(u64::MAX),
        unsigned_events: committed.saturating_sub(signed.map_or(0, |signed| signed.size)),
    })
}
