//! What servers ask of a client: elicitation, sampling and roots.
//!
//! Asking the person and using the client's model are capabilities. They are refused unless a signed
//! contract names them by their id, the policy allows the call, and the one client that the server
//! can mean has declared that it takes such requests. The person and the model are told whose words
//! they read; what the person answers goes to the server as it was typed, once it fits the form.
//! Roots are the client's own to tell, and no decision.

mod elicitation;
mod relay;
mod sampling;

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_drivers::mcp::{RpcError, ServerRequest};
use weaver_types::UpstreamName;

use super::asked_client::AskedClient;
use super::gateway::Gateway;
use super::server_events::AskedByServer;
use super::server_feature::FeatureKind;
use relay::{Refusal, RelayedRequest};

/// The code with which the protocol answers that a person, or whoever decides for them, said no.
const REJECTED: i64 = -1;
const INVALID_PARAMS: i64 = -32602;
/// Most roots that are passed on.
const MAX_ROOTS: usize = 100;

/// Answers what servers ask, for as long as the gateway serves.
pub(crate) async fn serve(gateway: Arc<Gateway>) {
    let Some(mut asked) = gateway.upstreams.events.asked() else { return };
    while let Some(AskedByServer { server, instance, call, request }) = asked.recv().await {
        let gateway = Arc::clone(&gateway);
        tokio::spawn(async move {
            let ServerRequest { method, params, key, responder, .. } = request;
            let meant = match call {
                Some(call) => Some(AskedClient::of_call(call)),
                None => gateway.upstreams.client_meant_by(&server, instance),
            };
            let question = ServerQuestion { server: &server, key, method: &method, params };
            let answering = answer(&gateway, question, meant.map(Arc::new));
            let answer = tokio::select! {
                answer = answering => answer,
                () = responder.cancelled() => return,
            };
            responder.answer(answer);
        });
    }
}

/// Tells every server that roots are no longer as they were.
pub(crate) fn tell_roots_changed(gateway: &Arc<Gateway>) {
    let gateway = Arc::clone(gateway);
    tokio::spawn(async move {
        let all = gateway.upstreams.entries().map(|entry| entry.tell_roots_changed());
        futures_util::future::join_all(all).await;
    });
}

/// What a server asks.
struct ServerQuestion<'a> {
    server: &'a UpstreamName,
    /// Its name, where it stands in a result.
    key: Option<String>,
    method: &'a str,
    params: Value,
}

async fn answer(
    gateway: &Gateway,
    question: ServerQuestion<'_>,
    meant: Option<Arc<AskedClient>>,
) -> Result<Value, RpcError> {
    let ServerQuestion { server, key, method, params } = question;
    match method {
        "roots/list" => Ok(roots(meant.as_deref(), key).await),
        "elicitation/create" => {
            let asked = declared(meant, "elicitation")?;
            let shown = elicitation::shown(gateway, server, &asked, &params)?;
            let kind = FeatureKind::Elicitation;
            let relayed = RelayedRequest { server, kind, key, method, shown, asked };
            let answer = relay::relay(gateway, relayed).await.map_err(refused)?;
            elicitation::checked(&params, answer)
        }
        "sampling/createMessage" => {
            let asked = declared(meant, "sampling")?;
            let shown = sampling::shown(gateway, server, &asked, params)?;
            let kind = FeatureKind::Sampling;
            let relayed = RelayedRequest { server, kind, key, method, shown, asked };
            let answer = relay::relay(gateway, relayed).await.map_err(refused)?;
            sampling::checked(gateway, answer)
        }
        _ => Err(RpcError::method_not_found()),
    }
}

/// The client that is meant, where it takes such requests.
fn declared(
    meant: Option<Arc<AskedClient>>,
    capability: &str,
) -> Result<Arc<AskedClient>, RpcError> {
    let taking = meant.filter(|asked| asked.capability(capability).is_some());
    taking.ok_or_else(RpcError::method_not_found)
}

fn refused(refusal: Refusal) -> RpcError {
    match refusal {
        // Why is for the operator, in the log: the server learns nothing of the policy.
        Refusal::Policy => RpcError::new(REJECTED, "the request was rejected"),
        Refusal::Unanswered => RpcError::new(-32603, "nobody answered in time"),
        Refusal::Client(error) => RpcError::new(error.code, error.message),
    }
}

/// The roots of the client that is meant; none where nobody is, or it has none.
async fn roots(meant: Option<&AskedClient>, key: Option<String>) -> Value {
    let none = || json!({ "roots": [] });
    let taking = meant.filter(|asked| asked.capability("roots").is_some());
    let Some(asked) = taking else { return none() };
    let Ok(answer) = asked.ask(key, "roots/list", json!({})).await else { return none() };
    let listed = answer.get("roots").and_then(Value::as_array);
    let roots = listed.into_iter().flatten().filter_map(|root| {
        let uri = root.get("uri")?.as_str()?;
        let name = root.get("name").filter(|name| name.is_string());
        let root = match name {
            Some(name) => json!({ "uri": uri, "name": name }),
            None => json!({ "uri": uri }),
        };
        // The protocol knows folders and files as roots, and nothing else.
        uri.starts_with("file://").then_some(root)
    });
    json!({ "roots": roots.take(MAX_ROOTS).collect::<Vec<Value>>() })
}
