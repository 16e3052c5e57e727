//! Ends the runs of clients that have gone.

use std::sync::Arc;
use std::time::Duration;

use super::gateway::Gateway;

/// The interval of checks for runs whose clients are gone.
const RUN_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Ends the runs of clients that are gone, for as long as the gateway serves.
pub(crate) async fn watch(gateway: Arc<Gateway>) {
    loop {
        tokio::time::sleep(RUN_CHECK_INTERVAL).await;
        if let Err(error) = gateway.runs.end_gone_clients(&gateway.kernel).await {
            tracing::warn!(%error, "the ends of runs whose clients are gone were not recorded");
        }
        let noted = gateway.upstreams.connected_clients.run_clients.run_ids();
        let mut runs = gateway.runs.current_run_ids().await;
        // A client that watches something needs its instance, even in a run that was ended.
        runs.extend(gateway.upstreams.connected_clients.watching_runs());
        let runs = gateway.upstreams.connected_clients.run_clients.retain_current(&noted, runs);
        gateway.upstreams.close_unused_instances(&runs).await;
    }
}
