//! Subscriptions of a client: single resources in the legacy era, notification streams in the
//! modern one.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use weaver_drivers::mcp::ServerList;
use weaver_types::{Decision, UpstreamName};

use super::client::Client;
use super::client_link::{MAX_SUBSCRIPTIONS, SubscriptionLimitError, SubscriptionStream};
use super::era::Era;
use super::error::ServeError;
use super::feature_methods;
use super::feature_request::FeatureRequest;
use super::feature_snapshot::ResourceAddress;
use super::lines::Outbox;
use super::message::{self, RpcError, SUBSCRIPTION_ID, code};
use super::resource_reader::{self, ResourceReader};
use super::resources;
use super::task::Task;
use super::tasks;
use crate::config::ToolListMode;

/// The filter keys of a stream, and the lists they stand for.
const LIST_FILTERS: [(&str, ServerList); 3] = [
    ("toolsListChanged", ServerList::Tools),
    ("resourcesListChanged", ServerList::Resources),
    ("promptsListChanged", ServerList::Prompts),
];

/// `resources/subscribe`: allowed where reading the resource would be.
pub(crate) async fn subscribe(client: &Client, request: FeatureRequest) -> Result<Value, RpcError> {
    let uri = request.string_param("uri")?;
    let Some(address) = resources::find(client, &uri).await else {
        return Err(resources::not_found_error(client, &uri, Era::Legacy).await);
    };
    let (reader, kernel) = (reader(client).await?, &client.gateway.kernel);
    match reader.decision(kernel, &address) {
        None => return Err(resources::not_found_error(client, &uri, Era::Legacy).await),
        Some(decision) if !decision.is_allowed() => return Err(refusal(&decision)),
        Some(_) => {}
    }
    if client.link.subscriptions.subscribe(&uri, address.clone()).map_err(limit_error)? {
        decide_again_if_replaced(client, &reader).await;
        let new = BTreeSet::from([address.uri]);
        if let Some(synced) = client.gateway.upstreams.sync_subscriptions(&address.server, new) {
            let _ = synced.await;
        }
    }
    Ok(json!({}))
}

/// `resources/unsubscribe`.
pub(crate) async fn unsubscribe(
    client: &Client,
    request: FeatureRequest,
) -> Result<Value, RpcError> {
    let removed = client.link.subscriptions.unsubscribe(&request.string_param("uri")?);
    let upstreams = &client.gateway.upstreams;
    let synced =
        removed.and_then(|address| upstreams.sync_subscriptions(&address.server, BTreeSet::new()));
    if let Some(synced) = synced {
        let _ = synced.await;
    }
    Ok(json!({}))
}

/// `subscriptions/listen`: a stream that is open until the client cancels it or leaves.
pub(crate) async fn listen(client: &Client, request: FeatureRequest) -> Result<Value, RpcError> {
    let options = &request.options;
    let gone = || RpcError::new(code::INTERNAL, "the client is gone");
    let outbox = options.outbox.upgrade().ok_or_else(gone)?;
    // Over HTTP a client ends it by closing the stream of the answer.
    let end = async {
        tokio::select! {
            () = options.cancellation.cancelled() => {}
            () = outbox.closed() => {}
        }
    };
    tokio::pin!(end);
    let tasks = requested_tasks(client, &request).await?;
    let opened = tokio::select! {
        opened = open_stream(client, &request, &outbox, &tasks) => Some(opened?),
        () = &mut end => None,
    };
    if let Some(number) = opened {
        let reports = async {
            let each = tasks.iter().map(|task| task.report_changes(&request.id, &options.outbox));
            join_all(each).await;
            pending().await
        };
        tokio::select! {
            () = &mut end => {}
            never = reports => never,
        }
        client
            .gateway
            .upstreams
            .sync_subscriptions_of(&client.link.subscriptions.close_stream(number));
    }
    Ok(json!({ "resultType": "complete", "_meta": { SUBSCRIPTION_ID: request.id } }))
}

/// The tasks whose changes a request asks for.
async fn requested_tasks(
    client: &Client,
    request: &FeatureRequest,
) -> Result<Vec<Arc<Task>>, RpcError> {
    let Some(ids) = request.params.get("notifications").and_then(|filter| filter.get("taskIds"))
    else {
        return Ok(Vec::new());
    };
    if !tasks::is_declared(&request.params) {
        return Err(tasks::undeclared_error());
    }
    if let Ok(run) = client.run().await {
        client.link.tasks.drop_results_of_other_runs(&run.run_id);
    }
    let ids: Vec<&str> = ids.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    Ok(client.link.tasks.find_each(&ids))
}

/// Opens the stream that a request asks for, and returns its number.
async fn open_stream(
    client: &Client,
    request: &FeatureRequest,
    outbox: &Outbox,
    tasks: &[Arc<Task>],
) -> Result<u64, RpcError> {
    let Some(Value::Object(filter)) = request.params.get("notifications") else {
        return Err(RpcError::new(code::INVALID_PARAMS, "`notifications` must be an object"));
    };
    let reader = reader(client).await?;
    let resources = readable_resources(client, &reader, filter).await?;
    let lists = accepted_lists(client, filter);
    let (id, weak) = (request.id.clone(), outbox.downgrade());
    let stream = SubscriptionStream { id, outbox: weak, lists, resources };
    let mut accepted = accepted_filter(&stream);
    if !tasks.is_empty() {
        let ids: Vec<&str> = tasks.iter().map(|task| task.id()).collect();
        accepted.insert("taskIds".to_owned(), json!(ids));
    }
    let params = json!({ "_meta": { SUBSCRIPTION_ID: request.id }, "notifications": accepted });
    let line = message::notification_with("notifications/subscriptions/acknowledged", params);
    let gone = |_| RpcError::new(code::INTERNAL, "the client is gone");
    let place = outbox.reserve().await.map_err(gone)?;
    let watched: BTreeSet<ResourceAddress> = stream.resources.values().cloned().collect();
    let number = client.link.subscriptions.open_stream(stream, place, line).map_err(limit_error)?;
    // From here on nothing is awaited: a stream that was opened is closed by the caller.
    let gateway = Arc::clone(&client.gateway);
    let mut by_server = BTreeMap::<UpstreamName, BTreeSet<String>>::new();
    for address in watched {
        by_server.entry(address.server).or_default().insert(address.uri);
    }
    for (server, new) in by_server {
        gateway.upstreams.sync_subscriptions(&server, new);
    }
    if !reader.is_current(&gateway.kernel) {
        let decide_again = async move {
            resource_reader::decide_again(&gateway.kernel, &gateway.upstreams).await;
        };
        tokio::spawn(decide_again);
    }
    Ok(number)
}

/// The client as a reader of resources, in its current run.
async fn reader(client: &Client) -> Result<ResourceReader, RpcError> {
    let internal = |error: ServeError| RpcError::new(code::INTERNAL, error.to_string());
    let policy = client.gateway.kernel.policy();
    let run = client.run().await.map_err(internal)?;
    client.register_run(&run.run_id).map_err(internal)?;
    let principal = client.principal().map_err(internal)?;
    Ok(ResourceReader { run, principal, policy })
}

/// Decides subscriptions again if another policy came into force since the first decision: those
/// that exist by then are decided by whoever puts it into force.
async fn decide_again_if_replaced(client: &Client, reader: &ResourceReader) {
    let gateway = &client.gateway;
    if !reader.is_current(&gateway.kernel) {
        resource_reader::decide_again(&gateway.kernel, &gateway.upstreams).await;
    }
}

/// The lists of a filter whose changes can be told.
fn accepted_lists(client: &Client, filter: &Map<String, Value>) -> BTreeSet<ServerList> {
    let support = feature_methods::declared_support(&client.gateway);
    let is_supported = |list: ServerList| match list {
        ServerList::Tools => client.profile.mode == ToolListMode::Proxy,
        ServerList::Resources | ServerList::ResourceTemplates => support.resources,
        ServerList::Prompts => support.prompts,
    };
    let lists = LIST_FILTERS.into_iter();
    let lists = lists.filter(|(key, _)| filter.get(*key) == Some(&Value::Bool(true)));
    lists.map(|(_, list)| list).filter(|list| is_supported(*list)).collect()
}

/// The resources of a filter that the client may read, by its URIs.
async fn readable_resources(
    client: &Client,
    reader: &ResourceReader,
    filter: &Map<String, Value>,
) -> Result<BTreeMap<String, ResourceAddress>, RpcError> {
    let uris = filter.get("resourceSubscriptions").and_then(Value::as_array);
    let uris: BTreeSet<&str> = uris.into_iter().flatten().filter_map(Value::as_str).collect();
    // Before any of them is looked for.
    if uris.len() > MAX_SUBSCRIPTIONS {
        return Err(limit_error(SubscriptionLimitError::RESOURCES));
    }
    let mut found = resources::find_each(client, &uris).await;
    found.retain(|_, address| {
        let decision = reader.decision(&client.gateway.kernel, address);
        decision.is_some_and(|decision| decision.is_allowed())
    });
    Ok(found)
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

fn refusal(decision: &Decision) -> RpcError {
    let message = format!(
        "{}: {}; it cannot be subscribed to either",
        decision.primary_reason(),
        decision.detail()
    );
    let data = json!({ "verdict": decision.verdict(), "reason": decision.primary_reason(), "message": message });
    RpcError::new(code::REFUSED, message).with_data(data)
}

fn limit_error(problem: SubscriptionLimitError) -> RpcError {
    RpcError::new(code::INVALID_REQUEST, problem.to_string())
}
