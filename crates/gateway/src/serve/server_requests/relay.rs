//! One request of a server as a call of its capability: decided, recorded, and only then passed on.
//!
//! The kernel sees that the client was asked and how it ended; what a person typed is passed by it,
//! for it belongs in no frame and no log.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use weaver_agent_kernel::{AuthorizedCall, Call, Caller, Driver, DriverError, FnDriver};
use weaver_drivers::mcp::RpcError;
use weaver_types::{
    Agents, Capability, CapabilityDraft, CapabilityRequest, Check, Contribution, Effects, Label,
    RawResult, ReasonCode, ResponseMode, UpstreamName, Verdict,
};

use crate::serve::asked_client::AskedClient;
use crate::serve::call;
use crate::serve::gateway::Gateway;
use crate::serve::server_feature::FeatureKind;

/// How long passing a request on may take, without the time that the client takes.
const TIMEOUT_MS: u32 = 60_000;

/// A request of a server that is to be passed on.
pub(super) struct RelayedRequest<'a> {
    pub(super) server: &'a UpstreamName,
    pub(super) kind: FeatureKind,
    /// Its name, where it stands in a result.
    pub(super) key: Option<String>,
    pub(super) method: &'a str,
    /// What the client is shown.
    pub(super) shown: Value,
    pub(super) asked: Arc<AskedClient>,
}

/// Why a request of a server has no answer.
pub(super) enum Refusal {
    /// The policy does not allow it.
    Policy,
    /// Nobody answered in time, or the decision could not be recorded.
    Unanswered,
    /// The client answered with an error.
    Client(RpcError),
}

/// Requests that were decided on and are about to be passed on, each by its number.
#[derive(Default)]
pub(crate) struct OpenRelays {
    last: AtomicU64,
    open: Mutex<BTreeMap<u64, OpenRelay>>,
}

struct OpenRelay {
    key: Option<String>,
    method: String,
    shown: Value,
    asked: Arc<AskedClient>,
    tell: oneshot::Sender<Result<Value, RpcError>>,
}

impl OpenRelays {
    fn open(&self, relay: OpenRelay) -> u64 {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(number, relay);
        number
    }

    fn take(&self, number: u64) -> Option<OpenRelay> {
        self.lock().remove(&number)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, OpenRelay>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes a request on, where policy and contracts allow it.
pub(super) async fn relay(
    gateway: &Gateway,
    relayed: RelayedRequest<'_>,
) -> Result<Value, Refusal> {
    let RelayedRequest { server, kind, key, method, shown, asked } = relayed;
    let asking = Arc::clone(&asked);
    let client = gateway.upstreams.callers.client_of(asked.link()).ok_or(Refusal::Unanswered)?;
    let id = kind.id(server.as_str()).ok_or(Refusal::Policy)?;
    let request = CapabilityRequest::new(id.clone(), "");
    let refuse = async |said: Contribution| {
        if let Err(error) = call::reject(&client, &request, said).await {
            tracing::error!(%error, "a refusal could not be recorded");
        }
        Refusal::Policy
    };
    if !gateway.kernel.policy().names_contract(&id) {
        let problem = "no signed contract names it; a pattern is not enough";
        let reason = ReasonCode::ContractUnknown;
        let said = Contribution::new(Check::Contract, Verdict::Deny, reason, problem);
        return Err(refuse(said).await);
    }
    let (tell, told) = oneshot::channel();
    let relays = Arc::clone(&gateway.upstreams.relays);
    let open = OpenRelay { key, method: method.to_owned(), shown: shown.clone(), asked, tell };
    let number = relays.open(open);
    // However this ends, nothing stays open.
    let _closed = RelayGuard { relays: &relays, number };
    let arguments = json!({ "request": number, "params": shown });
    let run = client.run().await.map_err(|_| Refusal::Unanswered)?;
    let principal = client.principal().map_err(|_| Refusal::Unanswered)?;
    let caller = Caller { run: &run, principal: &principal };
    let call = Call { request: &request, arguments: Some(&arguments), mode: ResponseMode::Auto };
    // A server does not wait for approvers, and what it asks opens no request for them.
    let would = gateway.kernel.dry_run(caller, call);
    if !would.decision.allowed() {
        let decision = would.decision;
        let (reason, detail) = (decision.primary(), decision.detail().to_owned());
        let said = Contribution::new(Check::Rule, Verdict::Deny, reason, detail);
        return Err(refuse(said).await);
    }
    let done = asking.scope(gateway.kernel.execute(caller, call)).await;
    if !done.decision.allowed() {
        return Err(Refusal::Policy);
    }
    let answer = told.await.map_err(|_| Refusal::Unanswered)?;
    answer.map_err(Refusal::Client)
}

struct RelayGuard<'a> {
    relays: &'a OpenRelays,
    number: u64,
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
