//! Requests that servers send to clients: elicitation, sampling and roots.
//!
//! Elicitation and sampling are capabilities. They are refused unless a signed contract names them
//! by id, the policy allows the call, and the one client that the request can be meant for declared
//! support. The person and the model are told which server's words they read. The person's answer
//! goes to the server as typed, once it fits the form. Roots are the client's own information and
//! need no decision.

mod elicitation;
mod relay;
mod sampling;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};
use weaver_drivers::mcp::{RpcError, ServerRequest};
use weaver_firewall::Firewall;
use weaver_types::UpstreamName;

use super::gateway::Gateway;
use super::server_events::{IncomingServerRequest, InstanceRef, ServerRequestOrigin};
use super::server_feature::FeatureKind;
use super::target_client::TargetClient;
use crate::serve::code;
use relay::{RelayRefusal, RelayedRequest};

/// The protocol's error code for a request that a person, or whoever decides for them, rejected.
const REJECTED: i64 = -1;
/// The most roots that are passed on.
const MAX_ROOTS: usize = 100;

/// Answers requests of servers for as long as the gateway serves.
pub(crate) async fn serve(gateway: Arc<Gateway>) {
    let Some(mut requests) = gateway.upstreams.events.take_requests() else { return };
    while let Some(IncomingServerRequest { server, origin, request }) = requests.recv().await {
        let gateway = Arc::clone(&gateway);
        tokio::spawn(async move {
            let ServerRequest { method, params, key, responder, .. } = request;
            let candidate = match origin {
                ServerRequestOrigin::Call(call) => Some(TargetClient::of_call(call)),
                ServerRequestOrigin::Instance(id) => {
                    let source = InstanceRef { server: server.clone(), id };
                    gateway.upstreams.request_target(&source)
                }
            };
            let question = ServerQuestion { server: &server, key, method: &method, params };
            let answering = answer(&gateway, question, candidate.map(Arc::new));
            let answer = tokio::select! {
                answer = answering => answer,
                () = responder.cancelled() => return,
            };
            responder.answer(answer);
        });
    }
}

/// Notifies every server of changed roots, for as long as the gateway serves.
pub(crate) async fn forward_roots_changes(gateway: Arc<Gateway>) {
    let tell = || async {
        let servers = gateway.upstreams.servers();
        let all = servers.iter().map(|upstream| upstream.tell_roots_changed());
        futures_util::future::join_all(all).await;
    };
    gateway.upstreams.roots_changes.notify_servers(tell).await;
}

/// A request of a server.
struct ServerQuestion<'a> {
    server: &'a UpstreamName,
    /// Its key, where the server asked in a result.
    key: Option<String>,
    method: &'a str,
    params: Value,
}

async fn answer(
    gateway: &Gateway,
    question: ServerQuestion<'_>,
    candidate: Option<Arc<TargetClient>>,
) -> Result<Value, RpcError> {
    let ServerQuestion { server, key, method, params } = question;
    match method {
        "roots/list" => Ok(list_roots(candidate.as_deref(), key).await),
        "elicitation/create" => {
            let target = target_declaring(candidate, "elicitation")?;
            let firewall = firewall_for(gateway, &target).await;
            let client_params =
                elicitation::request_for_client(&firewall, server, &target, &params)?;
            let kind = FeatureKind::Elicitation;
            let relayed = RelayedRequest { server, kind, key, method, client_params, target };
            let answer = relay::relay(gateway, relayed).await.map_err(error_for_refusal)?;
            elicitation::validated_answer(&params, answer)
        }
        "sampling/createMessage" => {
            let target = target_declaring(candidate, "sampling")?;
            let firewall = firewall_for(gateway, &target).await;
            let client_params = sampling::request_for_client(&firewall, server, &target, params)?;
            let kind = FeatureKind::Sampling;
            let relayed = RelayedRequest { server, kind, key, method, client_params, target };
            let answer = relay::relay(gateway, relayed).await.map_err(error_for_refusal)?;
            sampling::validated_answer(gateway, answer)
        }
        _ => Err(RpcError::method_not_found()),
    }
}

/// The firewall for what a client is asked.
async fn firewall_for<'g>(gateway: &'g Gateway, target: &TargetClient) -> Cow<'g, Firewall> {
    match gateway.upstreams.connected_clients.principal_of(target.link()) {
        Some(client) => client.firewall(&gateway.kernel).await,
        None => Cow::Borrowed(gateway.kernel.firewall()),
    }
}

/// The client, if it declared the capability.
fn target_declaring(
    candidate: Option<Arc<TargetClient>>,
    capability: &str,
) -> Result<Arc<TargetClient>, RpcError> {
    let accepting = candidate.filter(|target| target.capability(capability).is_some());
    accepting.ok_or_else(RpcError::method_not_found)
}

fn error_for_refusal(refusal: RelayRefusal) -> RpcError {
    match refusal {
        // The reason is logged for the operator; the server must not learn about the policy.
        RelayRefusal::Policy => RpcError::new(REJECTED, "the request was rejected"),
        RelayRefusal::Unanswered => RpcError::new(code::INTERNAL, "nobody answered in time"),
        RelayRefusal::Client(error) => RpcError::new(error.code, error.message),
    }
}

/// The client's roots; none without a client, or where it has none.
async fn list_roots(candidate: Option<&TargetClient>, key: Option<String>) -> Value {
    let none = || json!({ "roots": [] });
    let accepting = candidate.filter(|target| target.capability("roots").is_some());
    let Some(target) = accepting else { return none() };
    let Ok(answer) = target.ask(key, "roots/list", json!({})).await else { return none() };
    let listed = answer.get("roots").and_then(Value::as_array);
    let roots = listed.into_iter().flatten().filter_map(|root| {
        let uri = root.get("uri")?.as_str()?;
        let name = root.get("name").filter(|name| name.is_string());
        let root = match name {
            Some(name) => json!({ "uri": uri, "name": name }),
            None => json!({ "uri": uri }),
        };
        // The protocol allows only `file://` roots.
        uri.starts_with("file://").then_some(root)
    });
    json!({ "roots": roots.take(MAX_ROOTS).collect::<Vec<Value>>() })
}
