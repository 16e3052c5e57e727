//! Background task that records changes of the clients' tokens in the log.

use std::sync::Arc;
use std::time::Duration;

use super::gateway::Gateway;
use crate::client_journal::ClientJournal;

/// How often the file of clients is looked at.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Records every change of the file of clients for as long as the gateway serves.
pub(crate) async fn watch(gateway: Arc<Gateway>, mut journal: ClientJournal) {
    let mut reported = None;
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let problem = journal.record_changes(&gateway.kernel).await.err();
        let problem = problem.map(|error| error.to_string());
        if let Some(problem) = problem.as_ref().filter(|_| problem != reported) {
            log_failure(problem);
        }
        reported = problem;
    }
}

/// Records what has changed while no gateway ran.
pub(crate) async fn record(gateway: &Gateway, journal: &mut ClientJournal) {
    if let Err(error) = journal.record_changes(&gateway.kernel).await {
        log_failure(&error.to_string());
    }
}

fn log_failure(problem: &str) {
    tracing::error!("changes of the clients' tokens are not in the log yet: {problem}");
}
