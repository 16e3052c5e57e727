//! One request of a server as a call of its capability: decided, recorded, and only then passed on.
//!
//! The kernel sees that the client was asked and how it ended; what a person typed is passed by it,
//! for it belongs in no frame and no log.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use weaver_agent_kernel::{Call, Caller};
use weaver_drivers::mcp::RpcError;
use weaver_types::{
    CapabilityRequest, Check, Contribution, ReasonCode, ResponseMode, UpstreamName, Verdict,
};

use crate::serve::asked_client::AskedClient;
use crate::serve::gateway::Gateway;
use crate::serve::open_relays::OpenRelay;
use crate::serve::server_feature::FeatureKind;

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

/// Passes a request on, where policy and contracts allow it.
pub(super) async fn relay(
    gateway: &Gateway,
    relayed: RelayedRequest<'_>,
) -> Result<Value, Refusal> {
    let RelayedRequest { server, kind, key, method, shown, asked } = relayed;
    let (asking, kernel) = (Arc::clone(&asked), &gateway.kernel);
    let client = gateway.upstreams.callers.principal_of(asked.link()).ok_or(Refusal::Unanswered)?;
    let id = kind.id(server.as_str()).ok_or(Refusal::Policy)?;
    let request = CapabilityRequest::new(id.clone(), "");
    let refuse = async |said: Contribution| {
        if let Err(error) = client.reject(kernel, &request, said).await {
            tracing::error!(%error, "a refusal could not be recorded");
        }
        Refusal::Policy
    };
    if !kernel.policy().names_contract(&id) {
        let problem = "no signed contract names it; a pattern is not enough";
        let reason = ReasonCode::ContractUnknown;
        let said = Contribution::new(Check::Contract, Verdict::Deny, reason, problem);
        return Err(refuse(said).await);
    }
    let (tell, told) = oneshot::channel();
    let open = OpenRelay { key, method: method.to_owned(), shown: shown.clone(), asked, tell };
    // However this ends, nothing stays open.
    let opened = gateway.upstreams.relays.open(open);
    let arguments = json!({ "request": opened.number(), "params": shown });
    let run = client.run(kernel).await.map_err(|_| Refusal::Unanswered)?;
    let principal = client.granted(kernel.policy()).map_err(|_| Refusal::Unanswered)?;
    let caller = Caller { run: &run, principal: &principal };
    let call = Call { request: &request, arguments: Some(&arguments), mode: ResponseMode::Auto };
    // A server does not wait for approvers, and what it asks opens no request for them.
    let would = kernel.dry_run(caller, call);
    if !would.decision.allowed() {
        let decision = would.decision;
        let (reason, detail) = (decision.primary(), decision.detail().to_owned());
        let said = Contribution::new(Check::Rule, Verdict::Deny, reason, detail);
        return Err(refuse(said).await);
    }
    let done = asking.scope(kernel.execute(caller, call)).await;
    if !done.decision.allowed() {
        return Err(Refusal::Policy);
    }
    let answer = told.await.map_err(|_| Refusal::Unanswered)?;
    answer.map_err(Refusal::Client)
}
