//! Prunes payloads past their retention, in small steps.

use std::sync::Arc;
use std::time::Duration;

use weaver_trace_store::SqliteLedger;
use weaver_trace_store::retention::{Retention, RetentionError, RetentionSweep, SweepTally};
use weaver_types::{Tenant, Timestamp};

/// The actor that the log records for pruning.
const ACTOR: &str = "weaver serve";
/// The time between two sweeps.
const SWEEP_INTERVAL: Duration = Duration::from_secs(600);
/// The pause after each step, so that tool calls get the ledger in between.
const STEP_PAUSE: Duration = Duration::from_millis(50);

/// Prunes for as long as it is polled. `now` is the trusted time; while there is none, nothing is
/// pruned, since a wrong clock makes payloads look old, and pruning cannot be undone.
pub(crate) async fn prune(
    ledger: Arc<SqliteLedger>,
    retention: Retention,
    tenant: Tenant,
    now: impl Fn() -> Option<Timestamp>,
) {
    loop {
        if let Some(now) = now()
            && let Err(error) = sweep_payloads(&ledger, &retention, &tenant, now).await
        {
            tracing::error!(%error, "payloads that are old enough could not be pruned");
        }
        tokio::time::sleep(SWEEP_INTERVAL).await;
    }
}

async fn sweep_payloads(
    ledger: &Arc<SqliteLedger>,
    retention: &Retention,
    tenant: &Tenant,
    now: Timestamp,
) -> Result<(), RetentionError> {
    let mut sweep = RetentionSweep::resume(ledger.as_ref(), retention.clone(), ACTOR, now)?;
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use tokio::sync::Notify;
    use weaver_trace_store::OpenOptions;
    use weaver_trace_store::retention::{MIN_AGE, RetentionRule};
    use weaver_types::EventKind;
    use weaver_types::ledger::{Batch, Durability, Ledger as _, NewEvent};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nothing_is_pruned_before_there_is_a_trusted_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let ledger = Arc::new(SqliteLedger::open(&path, OpenOptions::default()).unwrap());
        let event = NewEvent {
            kind: EventKind::Outcome,
            at: Timestamp::from_micros(1_800_000_000_000_000),
            run: None,
            call: None,
            payload: b"{}".to_vec().into(),
        };
        let batch = Batch::new(Durability::Os).with_event(event.clone());
        ledger.commit(batch).wait().unwrap();
        let retention = Retention::new(vec![RetentionRule::older_than(MIN_AGE)], MIN_AGE).unwrap();
        let now = event.at.after(MIN_AGE * 400);
        let (times_asked, done) = (AtomicU64::new(0), Notify::new());
        let size = || ledger.head().unwrap().size;
        let pruning =
            prune(Arc::clone(&ledger), retention, Tenant::default(), || {
                match times_asked.fetch_add(1, Ordering::SeqCst) {
                    0 => None,
                    1 => {
                        assert_eq!(size(), 1, "nothing was pruned");
                        Some(now)
                    }
                    _ => {
                        done.notify_one();
                        None
                    }
                }
            });
        tokio::select! {
            () = pruning => {}
            () = done.notified() => {}
        }
        assert!(ledger.events(0, 1).unwrap()[0].payload.is_none());
        assert_eq!(size(), 2);
    }
}
