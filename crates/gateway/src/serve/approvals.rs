//! Background task for approvals: reads the inbox, and expires requests at their deadlines.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use weaver_agent_kernel::SignedFileOutcome;

use super::gateway::Gateway;
use super::inbox;

/// How often the inbox is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The number of polls between two sweeps of expired requests.
const POLLS_PER_SWEEP: u32 = 25;

/// Receives the files of the inbox for as long as the gateway serves. The kernel verifies each file
/// and records the outcome; this task only reads and removes files.
pub(crate) async fn watch(gateway: Arc<Gateway>) {
    let mut is_failure_reported = false;
    let mut polls = 0_u32;
    loop {
        let pending = gateway.kernel.open_requests();
        let pending = pending.into_iter().map(|id| id.as_str().to_owned()).collect();
        let folder = gateway.config.inbox.clone();
        // A poll is bounded, so a full folder takes several.
        let files = tokio::task::spawn_blocking(move || inbox::poll(&folder, &pending));
        let polled = match files.await {
            // The runtime shuts down.
            Err(error) if error.is_cancelled() => return,
            polled => polled.unwrap_or_else(|error| Err(std::io::Error::other(error))),
        };
        match polled {
            Ok(found) => {
                for file in &found {
                    receive_file(&gateway, file).await;
                }
                is_failure_reported = false;
            }
            Err(error) if !is_failure_reported => {
                tracing::error!(%error, inbox = %gateway.config.inbox.display(), "the inbox cannot be read; approvals do not arrive");
                is_failure_reported = true;
            }
            Err(_) => {}
        }
        polls = polls.wrapping_add(1);
        if polls.is_multiple_of(POLLS_PER_SWEEP) {
            gateway.kernel.sweep().await;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn receive_file(gateway: &Gateway, file: &inbox::InboxFile) {
    let name = file.name();
    // An unreadable file is recorded as a rejected statement: its error text stands in for its
    // bytes.
    let bytes = match &file.bytes {
        Ok(bytes) => Cow::Borrowed(bytes.as_slice()),
        Err(error) => Cow::Owned(error.to_string().into_bytes()),
    };
    match gateway.kernel.receive_signed_file(&bytes).await {
        // The file stays in the inbox until the ledger accepts writes again.
        SignedFileOutcome::Failed { problem } => {
            tracing::error!(file = name, problem, "a file of the inbox could not be recorded");
            return;
        }
        SignedFileOutcome::Rejected { code, detail } => {
            tracing::warn!(file = name, code, detail, "a file of the inbox was rejected");
        }
        SignedFileOutcome::RunEnded { run } => {
            tracing::info!(file = name, %run, "an operator ended a run");
            if let Err(error) = gateway.end_run(&run).await {
                tracing::error!(%run, %error, "no new run could be begun; calls are refused");
            }
        }
        received => tracing::info!(file = name, ?received, "a file of the inbox was accepted"),
    }
    if let Err(error) = file.remove() {
        tracing::error!(file = name, %error, "a file of the inbox cannot be removed");
    }
}
