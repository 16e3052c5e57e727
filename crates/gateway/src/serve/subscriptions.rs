//! Subscriptions of a client: single resources in the legacy era, notification streams in the
//! modern one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use weaver_agent_kernel::{Call, Caller};
use weaver_drivers::mcp::ServerList;
use weaver_types::{CapabilityRequest, ResponseMode};

use super::client::Client;
use super::client_link::{SubscriptionLimitError, SubscriptionStream};
use super::era::Era;
use super::feature_request::FeatureRequest;
use super::gateway::Gateway;
use super::message::{self, RpcError, code};
use super::resources;
use super::server_feature::FeatureKind;
use super::subscribed_resource::SubscribedResource;
use crate::config::ToolListMode;

/// The `_meta` key that names the stream of a notification.
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// How long servers may take to confirm that subscriptions have ended.
const UNSUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(10);

/// The filter keys of a stream, and the lists they stand for.
const LIST_FILTERS: [(&str, ServerList); 3] = [
    ("toolsListChanged", ServerList::Tools),
    ("resourcesListChanged", ServerList::Resources),
    ("promptsListChanged", ServerList::Prompts),
];

/// `resources/subscribe`: allowed where reading the resource would be.
pub(crate) async fn subscribe(client: &Client, request: FeatureRequest) -> Result<Value, RpcError> {
    let uri = request.string_param("uri")?;
    let Some(watched) = readable_resource(client, &uri).await? else {
        return Err(resources::not_found_error(client, &uri, Era::Legacy).await);
    };
    if client.link.subscribe(&uri, watched.clone()).map_err(limit_error)? {
        subscribe_at_server(&client.gateway, &watched).await;
    }
    Ok(json!({}))
}

/// `resources/unsubscribe`.
pub(crate) async fn unsubscribe(
    client: &Client,
    request: FeatureRequest,
) -> Result<Value, RpcError> {
    if let Some(watched) = client.link.unsubscribe(&request.string_param("uri")?) {
        unsubscribe_at_server(&client.gateway, &watched).await;
    }
    Ok(json!({}))
}

/// `subscriptions/listen`: a stream that is open until the client cancels it or leaves.
pub(crate) async fn listen(client: &Client, request: FeatureRequest) -> Result<Value, RpcError> {
    let Some(Value::Object(filter)) = request.params.get("notifications") else {
        return Err(RpcError::new(code::INVALID_PARAMS, "`notifications` must be an object"));
    };
    let stream = stream_for_filter(client, &request, filter).await;
    let (id, watched) = (stream.id.clone(), stream.resources.clone());
    let agreed = accepted_filter(&stream);
    let number = client.link.open_stream(stream).map_err(limit_error)?;
    let params = json!({ "_meta": { SUBSCRIPTION_ID: id }, "notifications": agreed });
    let line = message::notification_with("notifications/subscriptions/acknowledged", params);
    let _ = request.options.outbox.send(line).await;
    for watched in watched.values() {
        subscribe_at_server(&client.gateway, watched).await;
    }
    // Over HTTP a client ends it by closing the stream of the answer.
    tokio::select! {
        () = request.options.cancellation.cancelled() => {}
        () = request.options.outbox.closed() => {}
    }
    unsubscribe_all(&client.gateway, &client.link.close_stream(number)).await;
    Ok(json!({ "resultType": "complete", "_meta": { SUBSCRIPTION_ID: id } }))
}

/// The stream that a filter asks for, without what the client may not see.
async fn stream_for_filter(
    client: &Client,
    request: &FeatureRequest,
    filter: &Map<String, Value>,
) -> SubscriptionStream {
    let wanted = |key: &str| filter.get(key) == Some(&Value::Bool(true));
    let lists = LIST_FILTERS.into_iter().filter(|(key, list)| {
        wanted(key) && (*list != ServerList::Tools || client.profile.mode == ToolListMode::Proxy)
    });
    let lists: BTreeSet<ServerList> = lists.map(|(_, list)| list).collect();
    let mut resources = BTreeMap::new();
    let uris = filter.get("resourceSubscriptions").and_then(Value::as_array);
    for uri in uris.into_iter().flatten().filter_map(Value::as_str) {
        if let Ok(Some(resource)) = readable_resource(client, uri).await {
            resources.insert(uri.to_owned(), resource);
        }
    }
    let outbox = request.options.outbox.downgrade();
    SubscriptionStream { id: request.id.clone(), outbox, lists, resources }
}

/// The accepted part of a filter.
fn accepted_filter(stream: &SubscriptionStream) -> Map<String, Value> {
    let lists = LIST_FILTERS.into_iter().filter(|(_, list)| stream.lists.contains(list));
    let mut out: Map<String, Value> = lists.map(|(key, _)| (key.to_owned(), json!(true))).collect();
    if !stream.resources.is_empty() {
        let uris: Vec<&String> = stream.resources.keys().collect();
        out.insert("resourceSubscriptions".to_owned(), json!(uris));
    }
    out
}

/// The resource, if the client may read it now: a notice of its changes reveals something about it.
async fn readable_resource(
    client: &Client,
    uri: &str,
) -> Result<Option<SubscribedResource>, RpcError> {
    let Some(address) = resources::find(client, uri).await else { return Ok(None) };
    let id = FeatureKind::ResourceReading.id(address.server.as_str());
    let Some(id) = id else { return Ok(None) };
    let internal =
        |error: super::error::ServeError| RpcError::new(code::INTERNAL, error.to_string());
    let run = client.run().await.map_err(internal)?;
    client.register_run(&run.run_id).map_err(internal)?;
    let principal = client.principal().map_err(internal)?;
    let caller = Caller { run: &run, principal: &principal };
    let (request, arguments) = (CapabilityRequest::new(id, ""), json!({ "uri": address.uri }));
    let call = Call { request: &request, arguments: Some(&arguments), mode: ResponseMode::Auto };
    let preview = client.gateway.kernel.dry_run(caller, call);
    if preview.decision.is_allowed() {
        let upstream = client.gateway.upstreams.by_name(&address.server);
        let instance =
            upstream.and_then(|upstream| upstream.instances.subscription_instance(&run.run_id));
        return Ok(Some(SubscribedResource { address, instance }));
    }
    let decision = &preview.decision;
    let message = format!(
        "{}: {}; it cannot be subscribed to either",
        decision.primary_reason(),
        decision.detail()
    );
    let data = json!({ "verdict": decision.verdict(), "reason": decision.primary_reason(), "message": message });
    Err(RpcError { data: Some(data), ..RpcError::new(code::REFUSED, message) })
}

fn limit_error(problem: SubscriptionLimitError) -> RpcError {
    RpcError::new(code::INVALID_REQUEST, problem.to_string())
}

/// Counts one more subscriber, and subscribes at the server if that is not done yet.
async fn subscribe_at_server(gateway: &Gateway, watched: &SubscribedResource) {
    if !gateway.upstreams.subscription_counts.add(watched) {
        return;
    }
    let SubscribedResource { address, instance } = watched;
    let Some(upstream) = gateway.upstreams.by_name(&address.server) else { return };
    match upstream.subscribe(instance.as_ref(), &address.uri).await {
        Ok(()) => gateway.upstreams.subscription_counts.mark_subscribed(watched),
        // The server has no subscriptions; updates that it sends anyway still arrive.
        Err(error) => {
            tracing::debug!(upstream = %address.server, %error, "a resource is not watched");
        }
    }
}

/// Ends subscriptions of a client that has left them, all at once and within a time limit: a server
/// that does not answer keeps neither the client's session nor the other servers waiting.
pub(crate) async fn unsubscribe_all(gateway: &Gateway, watched: &[SubscribedResource]) {
    let all = join_all(watched.iter().map(|watched| unsubscribe_at_server(gateway, watched)));
    if tokio::time::timeout(UNSUBSCRIBE_TIMEOUT, all).await.is_err() {
        tracing::debug!("a server did not say that resources are no longer watched");
    }
}

/// Counts one subscriber fewer, and unsubscribes at the server after the last.
async fn unsubscribe_at_server(gateway: &Gateway, watched: &SubscribedResource) {
    if !gateway.upstreams.subscription_counts.remove(watched) {
        return;
    }
    let SubscribedResource { address, instance } = watched;
    if let Some(upstream) = gateway.upstreams.by_name(&address.server)
        && let Err(error) = upstream.unsubscribe(instance.as_ref(), &address.uri).await
    {
        tracing::debug!(upstream = %address.server, %error, "a resource is still watched");
    }
}
