//! What servers ask of clients while it is under way: the table of open relays, and the capabilities
//! by which a server asks.
//!
//! The kernel sees that the client was asked and how it ended; what a person typed is passed by it,
//! for it belongs in no frame and no log.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use weaver_agent_kernel::{AuthorizedCall, Driver, DriverError, FnDriver};
use weaver_drivers::mcp::RpcError;
use weaver_types::{Agents, Capability, CapabilityDraft, Effects, Label, RawResult, UpstreamName};

use super::asked_client::AskedClient;
use super::server_feature::FeatureKind;

/// How long passing a request on may take, without the time that the client takes.
const TIMEOUT_MS: u32 = 60_000;

/// Requests that were decided on and are about to be passed on, each by its number.
#[derive(Default)]
pub(crate) struct OpenRelays {
    last: AtomicU64,
    open: Mutex<BTreeMap<u64, OpenRelay>>,
}

/// A request of a server that may be passed on.
pub(crate) struct OpenRelay {
    /// Its name, where it stands in a result.
    pub(crate) key: Option<String>,
    pub(crate) method: String,
    /// What the client is shown.
    pub(crate) shown: Value,
    pub(crate) asked: Arc<AskedClient>,
    /// Where the client's answer goes.
    pub(crate) tell: oneshot::Sender<Result<Value, RpcError>>,
}

impl OpenRelays {
    /// A request is about to be passed on; it is open until what is given back is dropped.
    pub(crate) fn open(&self, relay: OpenRelay) -> RelayGuard<'_> {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(number, relay);
        RelayGuard { relays: self, number }
    }

    fn take(&self, number: u64) -> Option<OpenRelay> {
        self.lock().remove(&number)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, OpenRelay>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a request open.
pub(crate) struct RelayGuard<'a> {
    relays: &'a OpenRelays,
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

/// The two capabilities by which a server asks something of a client, with their driver. They are
/// described here and not by the server.
pub(crate) fn capabilities(
    server: &UpstreamName,
    relays: &Arc<OpenRelays>,
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
            // What comes back to the kernel is a word of the gateway's own.
            output_label: Label::clean(),
            ..CapabilityDraft::new(id, title, Effects::READ_OPEN, Agents::Any)
        };
        match draft.build() {
            Ok(capability) => Some((capability, driver(relays))),
            Err(error) => {
                tracing::error!(%error, "a server cannot ask its client");
                None
            }
        }
    })
    .collect()
}

fn driver(relays: &Arc<OpenRelays>) -> Arc<dyn Driver> {
    let relays = Arc::clone(relays);
    Arc::new(FnDriver::asynchronous(move |call: AuthorizedCall| {
        let number = call.arguments().get("request").and_then(Value::as_u64);
        let open = number.and_then(|number| relays.take(number));
        async move {
            let gone = || DriverError::Invalid("no server asks this".to_owned());
            let OpenRelay { key, method, shown, asked, tell } = open.ok_or_else(gone)?;
            let answer = asked.ask(key, &method, shown).await;
            let said = answer.as_ref().map(|answer| answer.get("action").and_then(Value::as_str));
            let ended = match said {
                Ok(Some("accept")) => "accept",
                Ok(Some("decline")) => "decline",
                Ok(Some("cancel")) => "cancel",
                Ok(_) => "answered",
                Err(_) => "refused",
            };
            let _ = tell.send(answer);
            Ok(RawResult::json(json!({ "action": ended })))
        }
    }))
}
