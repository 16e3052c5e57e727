//! Relays one request of a server as a call of its capability: it is decided and recorded before
//! the client sees it.
//!
//! The kernel sees that the client was asked and how it ended. What a person typed bypasses it,
//! because it belongs in no frame and no log.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use weaver_agent_kernel::{Call, Caller};
use weaver_drivers::mcp::RpcError;
use weaver_types::{
    CapabilityRequest, CheckKind, CheckResult, ProgressSink, ReasonCode, ResponseMode,
    UpstreamName, Verdict,
};

use crate::serve::gateway::Gateway;
use crate::serve::pending_relays::PendingRelay;
use crate::serve::server_feature::FeatureKind;
use crate::serve::target_client::TargetClient;

/// A request of a server that is to be relayed.
pub(super) struct RelayedRequest<'a> {
    pub(super) server: &'a UpstreamName,
    pub(super) kind: FeatureKind,
    /// Its key, where the server asked in a result.
    pub(super) key: Option<String>,
    pub(super) method: &'a str,
    /// The parameters as the client gets them.
    pub(super) client_params: Value,
    pub(super) target: Arc<TargetClient>,
}

/// Why a request of a server was not answered.
pub(super) enum RelayRefusal {
    /// The policy does not allow it.
    Policy,
    /// Nobody answered in time, or the decision could not be recorded.
    Unanswered,
    /// The client answered with an error.
    Client(RpcError),
}

/// Relays a request, if contracts and policy allow it. The order matters: a missing contract is
/// refused first, then a dry run refuses what the policy would hold, because a server cannot wait
/// for approvers; only then is the call executed, which decides again and records it.
pub(super) async fn relay(
    gateway: &Gateway,
    relayed: RelayedRequest<'_>,
) -> Result<Value, RelayRefusal> {
    let RelayedRequest { server, kind, key, method, client_params, target } = relayed;
    let (asking, kernel) = (Arc::clone(&target), &gateway.kernel);
    let client = gateway
        .upstreams
        .connected_clients
        .principal_of(target.link())
        .ok_or(RelayRefusal::Unanswered)?;
    let id = kind.id(server.as_str()).ok_or(RelayRefusal::Policy)?;
    let request = CapabilityRequest::new(id.clone(), "");
    let refuse = async |denial: CheckResult| {
        if let Err(error) = client.reject(kernel, &request, denial).await {
            tracing::error!(%error, "a refusal could not be recorded");
        }
        RelayRefusal::Policy
    };
    if !kernel.policy().has_exact_contract(&id) {
        let problem = "no signed contract names it; a pattern is not enough";
        let reason = ReasonCode::ContractUnknown;
        let denial = CheckResult::new(CheckKind::Contract, Verdict::Deny, reason, problem);
        return Err(refuse(denial).await);
    }
    let (reply_to, reply) = oneshot::channel();
    let open = PendingRelay {
        key,
        method: method.to_owned(),
        client_params: client_params.clone(),
        target,
        reply_to,
    };
    // The guard removes the request however this ends.
    let relay_guard = gateway.upstreams.relays.insert(open);
    let arguments = json!({ "request": relay_guard.number(), "params": client_params });
    let run = client.run(kernel).await.map_err(|_| RelayRefusal::Unanswered)?;
    let principal = client.resolve(kernel.policy()).map_err(|_| RelayRefusal::Unanswered)?;
    let caller = Caller { run: &run, principal: &principal };
    let call = Call { request: &request, arguments: Some(&arguments), mode: ResponseMode::Auto };
    // Servers do not wait for approvers, and their requests open no approval requests.
    let preview = kernel.dry_run(caller, call);
    if !preview.decision.is_allowed() {
        let decision = preview.decision;
        let (reason, detail) = (decision.primary_reason(), decision.detail().to_owned());
        let denial = CheckResult::new(CheckKind::Rule, Verdict::Deny, reason, detail);
        return Err(refuse(denial).await);
    }
    // The run takes on the label of the server's words before the client has them.
    let unseen: ProgressSink = Arc::new(|_| ());
    let asked = kernel.execute_with_progress(caller, call, unseen);
    let invocation = asking.scope(asked).await;
    if !invocation.decision.is_allowed() {
        return Err(RelayRefusal::Policy);
    }
    let answer = reply.await.map_err(|_| RelayRefusal::Unanswered)?;
    answer.map_err(RelayRefusal::Client)
}
