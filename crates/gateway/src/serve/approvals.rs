//! Approvals in the gateway: reads the inbox, and ends requests at their deadlines.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use weaver_agent_kernel::FileOutcome;

use super::gateway::Gateway;
use super::inbox;

/// How often the inbox is polled.
const INTERVAL: Duration = Duration::from_millis(200);
/// After how many looks the requests that outlived their deadline are ended.
const SWEEP_EVERY: u32 = 25;

/// Takes in what lies in the inbox, for as long as the gateway serves. The kernel verifies every
/// file and writes down what it came to; here a file is only read and removed.
pub(crate) async fn watch(gateway: Arc<Gateway>) {
    let mut told = false;
    let mut looks = 0_u32;
    loop {
        let waiting = gateway.kernel.open_requests();
        let waiting = waiting.into_iter().map(|id| id.as_str().to_owned()).collect();
        let folder = gateway.config.inbox.clone();
        // A crowded folder takes several polls.
        let look = tokio::task::spawn_blocking(move || inbox::look(&folder, &waiting));
        match look.await.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            Ok(found) => {
                for dropped in &found {
                    take_in(&gateway, dropped).await;
                }
                told = false;
            }
            Err(error) if !told => {
                tracing::error!(%error, inbox = %gateway.config.inbox.display(), "the inbox cannot be read; approvals do not arrive");
                told = true;
            }
            Err(_) => {}
        }
        looks = looks.wrapping_add(1);
        if looks.is_multiple_of(SWEEP_EVERY) {
            gateway.kernel.sweep().await;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

async fn take_in(gateway: &Gateway, dropped: &inbox::InboxFile) {
    let name = dropped.name();
    // What is wrong with a file itself is no signed statement either, and is recorded as such.
    let bytes = match &dropped.bytes {
        Ok(bytes) => Cow::Borrowed(bytes.as_slice()),
        Err(error) => Cow::Owned(error.to_string().into_bytes()),
    };
    match gateway.kernel.receive(&bytes).await {
        // The file stays until the ledger can be written again.
        FileOutcome::Failed { problem } => {
            tracing::error!(file = name, problem, "a file of the inbox could not be recorded");
            return;
        }
        FileOutcome::Rejected { code, detail } => {
            tracing::warn!(file = name, code, detail, "a file of the inbox does not count");
        }
        FileOutcome::RunEnded { run } => {
            tracing::info!(file = name, %run, "an operator ended a run");
            if let Err(error) = gateway.end_run(&run).await {
                tracing::error!(%run, %error, "no new run could be begun; calls are refused");
            }
        }
        received => tracing::info!(file = name, ?received, "a file of the inbox counts"),
    }
    if let Err(error) = dropped.remove() {
        tracing::error!(file = name, %error, "a file of the inbox cannot be removed");
    }
}
