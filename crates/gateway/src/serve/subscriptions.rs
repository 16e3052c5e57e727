//! Subscriptions of a client: single resources in the legacy era, streams of notifications in the
//! modern one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use weaver_agent_kernel::{Call, Caller};
use weaver_drivers::mcp::ServerList;
use weaver_types::{CapabilityRequest, ResponseMode};

use super::client::Client;
use super::client_link::{NoticeStream, TooMany};
use super::era::Era;
use super::feature_request::FeatureRequest;
use super::gateway::Gateway;
use super::message::{self, RpcError, code};
use super::resources;
use super::server_feature::FeatureKind;
use super::watched_resource::WatchedResource;
use crate::config::Mode;

/// The key under which a notification names the stream that it belongs to.
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The lists of whose changes a stream tells, by the words of its filter.
const LISTS: [(&str, ServerList); 3] = [
    ("toolsListChanged", ServerList::Tools),
    ("resourcesListChanged", ServerList::Resources),
    ("promptsListChanged", ServerList::Prompts),
];

/// `resources/subscribe`: allowed where reading the resource would be.
pub(crate) async fn subscribe(client: &Client, asked: FeatureRequest) -> Result<Value, RpcError> {
    let uri = asked.text("uri")?;
    let Some(watched) = readable(client, &uri).await? else {
        return Err(resources::not_found(client, &uri, Era::Legacy).await);
    };
    if client.link.watch(&uri, watched.clone()).map_err(too_many)? {
        watch(&client.gateway, &watched).await;
    }
    Ok(json!({}))
}

/// `resources/unsubscribe`.
pub(crate) async fn unsubscribe(client: &Client, asked: FeatureRequest) -> Result<Value, RpcError> {
    if let Some(watched) = client.link.unwatch(&asked.text("uri")?) {
        unwatch(&client.gateway, &watched).await;
    }
    Ok(json!({}))
}

/// `subscriptions/listen`: a stream that is open until the client cancels it or goes.
pub(crate) async fn listen(client: &Client, asked: FeatureRequest) -> Result<Value, RpcError> {
    let Some(Value::Object(filter)) = asked.params.get("notifications") else {
        return Err(RpcError::new(code::INVALID_PARAMS, "`notifications` must be an object"));
    };
    let stream = stream_of(client, &asked, filter).await;
    let (id, watched) = (stream.id.clone(), stream.watched.clone());
    let agreed = agreed(&stream);
    let number = client.link.open_stream(stream).map_err(too_many)?;
    let params = json!({ "_meta": { SUBSCRIPTION_ID: id }, "notifications": agreed });
    let line = message::notification_with("notifications/subscriptions/acknowledged", params);
    let _ = asked.options.outbox.send(line).await;
    for watched in watched.values() {
        watch(&client.gateway, watched).await;
    }
    // Over HTTP a client ends it by closing the stream of the answer.
    tokio::select! {
        () = asked.options.cancellation.cancelled() => {}
        () = asked.options.outbox.closed() => {}
    }
    for watched in client.link.close_stream(number) {
        unwatch(&client.gateway, &watched).await;
    }
    Ok(json!({ "resultType": "complete", "_meta": { SUBSCRIPTION_ID: id } }))
}

/// The stream that a filter asks for, with what can be told of it.
async fn stream_of(
    client: &Client,
    asked: &FeatureRequest,
    filter: &Map<String, Value>,
) -> NoticeStream {
    let wanted = |key: &str| filter.get(key) == Some(&Value::Bool(true));
    let lists = LISTS.into_iter().filter(|(key, list)| {
        wanted(key) && (*list != ServerList::Tools || client.profile.mode == Mode::Proxy)
    });
    let lists: BTreeSet<ServerList> = lists.map(|(_, list)| list).collect();
    let mut watched = BTreeMap::new();
    let uris = filter.get("resourceSubscriptions").and_then(Value::as_array);
    for uri in uris.into_iter().flatten().filter_map(Value::as_str) {
        if let Ok(Some(resource)) = readable(client, uri).await {
            watched.insert(uri.to_owned(), resource);
        }
    }
    let outbox = asked.options.outbox.downgrade();
    NoticeStream { id: asked.id.clone(), outbox, lists, watched }
}

/// The part of a filter that is kept.
fn agreed(stream: &NoticeStream) -> Map<String, Value> {
    let lists = LISTS.into_iter().filter(|(_, list)| stream.lists.contains(list));
    let mut out: Map<String, Value> = lists.map(|(key, _)| (key.to_owned(), json!(true))).collect();
    if !stream.watched.is_empty() {
        let uris: Vec<&String> = stream.watched.keys().collect();
        out.insert("resourceSubscriptions".to_owned(), json!(uris));
    }
    out
}

/// Where the resource is, if it may be read now: being told of its changes says something of it.
async fn readable(client: &Client, uri: &str) -> Result<Option<WatchedResource>, RpcError> {
    let Some(address) = resources::find(client, uri).await else { return Ok(None) };
    let id = FeatureKind::ResourceReading.id(address.server.as_str());
    let Some(id) = id else { return Ok(None) };
    let inside = |error: super::error::ServeError| RpcError::new(code::INTERNAL, error.to_string());
    let run = client.run().await.map_err(inside)?;
    client.note_run(&run.run_id).map_err(inside)?;
    let principal = client.principal().map_err(inside)?;
    let caller = Caller { run: &run, principal: &principal };
    let (request, arguments) = (CapabilityRequest::new(id, ""), json!({ "uri": address.uri }));
    let call = Call { request: &request, arguments: Some(&arguments), mode: ResponseMode::Auto };
    let would = client.gateway.kernel.dry_run(caller, call);
    if would.decision.allowed() {
        let entry = client.gateway.upstreams.named(&address.server);
        let instance = entry.and_then(|entry| entry.instances.begin_watching(&run.run_id));
        return Ok(Some(WatchedResource { address, instance }));
    }
    let decision = &would.decision;
    let said = format!("{}: {}; it is not watched either", decision.primary(), decision.detail());
    let data =
        json!({ "verdict": decision.verdict(), "reason": decision.primary(), "message": said });
    Err(RpcError { data: Some(data), ..RpcError::new(code::REFUSED, said) })
}

fn too_many(problem: TooMany) -> RpcError {
    RpcError::new(code::INVALID_REQUEST, problem.to_string())
}

/// One more client watches a resource.
async fn watch(gateway: &Gateway, watched: &WatchedResource) {
    if !gateway.upstreams.watches.add(watched) {
        return;
    }
    let WatchedResource { address, instance } = watched;
    if let Some(entry) = gateway.upstreams.named(&address.server)
        && let Err(error) = entry.subscribe(instance.as_ref(), &address.uri).await
    {
        // Its server has none; what it tells all the same still arrives.
        tracing::debug!(upstream = %address.server, %error, "a resource is not watched");
    }
}

/// One client fewer watches a resource.
pub(crate) async fn unwatch(gateway: &Gateway, watched: &WatchedResource) {
    if !gateway.upstreams.watches.remove(watched) {
        return;
    }
    let WatchedResource { address, instance } = watched;
    if let Some(entry) = gateway.upstreams.named(&address.server)
        && let Err(error) = entry.unsubscribe(instance.as_ref(), &address.uri).await
    {
        tracing::debug!(upstream = %address.server, %error, "a resource is still watched");
    }
}
