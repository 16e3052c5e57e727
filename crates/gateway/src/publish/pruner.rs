//! Prunes payloads past their retention, in small steps.

use std::sync::Arc;
use std::time::Duration;

use weaver_trace_store::SqliteLedger;
use weaver_trace_store::retention::{Retention, RetentionError, RetentionSweep, SweepTally};
use weaver_types::{Clock, Tenant};

/// The actor that the log records for pruning.
const ACTOR: &str = "weaver serve";
/// The time between two sweeps.
const SWEEP_INTERVAL: Duration = Duration::from_secs(600);
/// The pause after each step, so that tool calls get the ledger in between.
const STEP_PAUSE: Duration = Duration::from_millis(50);

/// Prunes for as long as it is polled.
pub(crate) async fn prune(
    ledger: Arc<SqliteLedger>,
    retention: Retention,
    tenant: Tenant,
    clock: Arc<dyn Clock>,
) {
    loop {
        if let Err(error) = sweep_payloads(&ledger, &retention, &tenant, clock.as_ref()).await {
            tracing::error!(%error, "payloads that are old enough could not be pruned");
        }
        tokio::time::sleep(SWEEP_INTERVAL).await;
    }
}

async fn sweep_payloads(
    ledger: &Arc<SqliteLedger>,
    retention: &Retention,
    tenant: &Tenant,
    clock: &dyn Clock,
) -> Result<(), RetentionError> {
    let mut sweep = RetentionSweep::resume(ledger.as_ref(), retention.clone(), ACTOR, clock.now())?;
    loop {
        let (ledger, tenants) = (Arc::clone(ledger), [tenant.clone()]);
        let outcome = tokio::task::spawn_blocking(move || {
            let outcome = step(&mut sweep, &ledger, &tenants);
            (sweep, outcome)
        });
        // The task fails only when the runtime is shutting down.
        let Ok((returned_sweep, outcome)) = outcome.await else { return Ok(()) };
        let Some(tally) = outcome? else { return Ok(()) };
        if tally.total() > 0 {
            tracing::info!("{} payloads were pruned", tally.total());
        }
        sweep = returned_sweep;
        tokio::time::sleep(STEP_PAUSE).await;
    }
}

fn step(
    sweep: &mut RetentionSweep,
    ledger: &SqliteLedger,
    tenants: &[Tenant],
) -> Result<Option<SweepTally>, RetentionError> {
    let Some(step) = sweep.step(ledger, tenants)? else { return Ok(None) };
    let mut tally = SweepTally::default();
    tally.add(&sweep.commit(ledger, step)?);
    Ok(Some(tally))
}
