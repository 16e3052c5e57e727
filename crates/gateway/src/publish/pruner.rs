//! Prunes payloads past their retention, in small steps.

use std::sync::Arc;
use std::time::Duration;

use weaver_trace_store::SqliteLedger;
use weaver_trace_store::retention::{Retention, RetentionError, Sweep, SweepTally};
use weaver_types::{Clock, Tenant};

/// The actor that the log names for pruning.
const BY: &str = "weaver serve";
/// Time between two walks.
const INTERVAL: Duration = Duration::from_secs(600);
/// Time between two steps of one, which is the calls'.
const BREATH: Duration = Duration::from_millis(50);

/// Prunes for as long as it is polled.
pub(crate) async fn prune(
    ledger: Arc<SqliteLedger>,
    retention: Retention,
    tenant: Tenant,
    clock: Arc<dyn Clock>,
) {
    loop {
        if let Err(error) = walk(&ledger, &retention, &tenant, clock.as_ref()).await {
            tracing::error!(%error, "payloads that are old enough could not be pruned");
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

async fn walk(
    ledger: &Arc<SqliteLedger>,
    retention: &Retention,
    tenant: &Tenant,
    clock: &dyn Clock,
) -> Result<(), RetentionError> {
    let mut sweep = Sweep::resume(ledger.as_ref(), retention.clone(), BY, clock.now())?;
    loop {
        let (ledger, tenants) = (Arc::clone(ledger), [tenant.clone()]);
        let stepped = tokio::task::spawn_blocking(move || {
            let stepped = step(&mut sweep, &ledger, &tenants);
            (sweep, stepped)
        });
        // Only a runtime that ends gives nothing back.
        let Ok((back, stepped)) = stepped.await else { return Ok(()) };
        let Some(tally) = stepped? else { return Ok(()) };
        if tally.total() > 0 {
            tracing::info!("{} payloads were pruned", tally.total());
        }
        sweep = back;
        tokio::time::sleep(BREATH).await;
    }
}

fn step(
    sweep: &mut Sweep,
    ledger: &SqliteLedger,
    tenants: &[Tenant],
) -> Result<Option<SweepTally>, RetentionError> {
    let Some(step) = sweep.step(ledger, tenants)? else { return Ok(None) };
    let mut tally = SweepTally::default();
    tally.add(&sweep.commit(ledger, step)?);
    Ok(Some(tally))
}
