//! Server requests on their way to a client: the table of pending relays, and the capabilities by
//! which a server asks.
//!
//! The kernel sees that the client was asked and how it ended. What a person typed bypasses the
//! kernel, because it belongs in no frame and no log: the capability's driver takes the request
//! from the table by its number and sends the answer back past the kernel.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use weaver_agent_kernel::{AuthorizedCall, Driver, DriverError};
use weaver_drivers::mcp::RpcError;
use weaver_types::{
    AllowedAgents, BoxFuture, Capability, CapabilityDraft, Effects, Label, RawResult, UpstreamName,
};

use super::server_feature::FeatureKind;
use super::target_client::TargetClient;

/// The timeout of a relay, not counting the client's time to answer.
const TIMEOUT_MS: u32 = 60_000;

/// Requests that are about to be evaluated and relayed, by number.
#[derive(Default)]
pub(crate) struct PendingRelays {
    next_number: AtomicU64,
    pending: Mutex<BTreeMap<u64, PendingRelay>>,
}

/// A request of a server that is to be relayed.
pub(crate) struct PendingRelay {
    /// Its key, where the server asked in a result.
    pub(crate) key: Option<String>,
    pub(crate) method: String,
    /// The parameters as the client gets them.
    pub(crate) client_params: Value,
    pub(crate) target: Arc<TargetClient>,
    /// Receives the client's answer.
    pub(crate) reply_to: oneshot::Sender<Result<Value, RpcError>>,
}

impl PendingRelays {
    /// Adds a request, which stays pending until the returned guard is dropped or the driver takes
    /// it.
    pub(crate) fn insert(&self, relay: PendingRelay) -> RelayGuard<'_> {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(number, relay);
        RelayGuard { relays: self, number }
    }

    fn take(&self, number: u64) -> Option<PendingRelay> {
        self.lock().remove(&number)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, PendingRelay>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a request pending.
pub(crate) struct RelayGuard<'a> {
    relays: &'a PendingRelays,
    number: u64,
}

impl RelayGuard<'_> {
    /// The number by which the driver finds the request.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for RelayGuard<'_> {
    fn drop(&mut self) {
        self.relays.take(self.number);
    }
}

/// The capabilities by which a server asks something of a client, with their driver. The gateway
/// describes them, not the server.
pub(crate) fn capabilities(
    server: &UpstreamName,
    relays: &Arc<PendingRelays>,
) -> Vec<(Capability, Arc<dyn Driver>)> {
    [
        (FeatureKind::Elicitation, "Ask the person", "Asks the person behind a client."),
        (FeatureKind::Sampling, "Use the client's model", "Has the model of a client answer."),
    ]
    .into_iter()
    .filter_map(|(kind, title, description)| {
        let id = kind.id(server.as_str())?;
        let draft = CapabilityDraft {
            title: Some(title.to_owned()),
            description: description.to_owned(),
            input_schema: Some(json!({
                "type": "object",
                "properties": { "request": { "type": "integer" }, "params": { "type": "object" } },
                "required": ["request"],
                "additionalProperties": false,
            }).into()),
            timeout_ms: TIMEOUT_MS,
            // The result is a fixed word of the gateway's own. The question is the server's words.
            output_label: Label::undeclared_output(),
            ..CapabilityDraft::new(id, title, Effects::READ_OPEN, AllowedAgents::Any)
        };
        match draft.build() {
            Ok(capability) => {
                Some((capability, Arc::new(RelayDriver(Arc::clone(relays))) as Arc<dyn Driver>))
            }
            Err(error) => {
                tracing::error!(%error, "a server cannot ask its client");
                None
            }
        }
    })
    .collect()
}

/// Asks clients what servers ask of them.
struct RelayDriver(Arc<PendingRelays>);

impl Driver for RelayDriver {
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        let number = call.arguments().get("request").and_then(Value::as_u64);
        let relay = number.and_then(|number| self.0.take(number));
        Box::pin(async move {
            let no_relay = || {
                DriverError::Invalid("no server request is pending under this number".to_owned())
            };
            let PendingRelay { key, method, client_params, target, reply_to } =
                relay.ok_or_else(no_relay)?;
            let answer = target.ask(key, &method, client_params).await;
            let action = answer.as_ref().map(|answer| answer.get("action").and_then(Value::as_str));
            let outcome = match action {
                Ok(Some("accept")) => "accept",
                Ok(Some("decline")) => "decline",
                Ok(Some("cancel")) => "cancel",
                Ok(_) => "answered",
                Err(_) => "refused",
            };
            let _ = reply_to.send(answer);
            Ok(RawResult::json(json!({ "action": outcome })))
        })
    }

    /// The client's model may read the server's words long before the question is answered.
    fn reports_progress(&self) -> bool {
        true
    }

    fn name(&self) -> &str {
        "client"
    }
}
