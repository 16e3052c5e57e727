//! The protocol's methods besides tools: resources, prompts, completion, logging, subscriptions.
//!
//! Each request to a server is a call of a capability, so it is decided, recorded, charged and
//! filtered as a tool call is. Hidden items are answered like missing ones.

use serde_json::{Map, Value, json};
use weaver_drivers::mcp::LogLevel;

use super::call::CallOptions;
use super::client::Client;
use super::era::Era;
use super::feature_request::FeatureRequest;
use super::feature_snapshot::FeatureSupport;
use super::gateway::Gateway;
use super::message::{Request, RpcError, code};
use super::{completion, prompts, resources, subscriptions};

/// Answers a request; `None` where the method is not one of these, or not of this era.
pub(crate) async fn answer(
    client: &Client,
    era: Era,
    request: &Request,
    options: CallOptions,
) -> Option<Result<Value, RpcError>> {
    let (id, params) = (request.id.clone(), request.params.clone());
    let feature_request = FeatureRequest { era, id, params, options };
    Some(match (request.method.as_str(), era) {
        ("resources/list", _) => resources::list(client, feature_request).await,
        ("resources/templates/list", _) => resources::list_templates(client, feature_request).await,
        ("resources/read", _) => resources::read(client, feature_request).await,
        ("prompts/list", _) => prompts::list(client, feature_request).await,
        ("prompts/get", _) => prompts::get(client, feature_request).await,
        ("completion/complete", _) => completion::complete(client, feature_request).await,
        ("resources/subscribe", Era::Legacy) => {
            subscriptions::subscribe(client, feature_request).await
        }
        ("resources/unsubscribe", Era::Legacy) => {
            subscriptions::unsubscribe(client, feature_request).await
        }
        ("subscriptions/listen", Era::Modern) => {
            subscriptions::listen(client, feature_request).await
        }
        ("logging/setLevel", Era::Legacy) => set_level(client, &feature_request).await,
        _ => return None,
    })
}

/// The features declared to a client: what any server supports, or everything while some server has
/// not answered yet.
pub(crate) fn declared_support(gateway: &Gateway) -> FeatureSupport {
    let supported = gateway.upstreams.features().support;
    let everything = FeatureSupport {
        resources: true,
        prompts: true,
        completions: true,
        subscriptions: true,
        logs: true,
    };
    match gateway.upstreams.are_first_attempts_done() {
        true => supported,
        false => everything,
    }
}

/// The capabilities declared to a client besides tools.
pub(crate) fn server_capabilities(gateway: &Gateway, era: Era) -> Map<String, Value> {
    let abilities = declared_support(gateway);
    let mut capabilities = Map::new();
    let mut declare = |name: &str, is_supported: bool, value: Value| {
        if is_supported {
            capabilities.insert(name.to_owned(), value);
        }
    };
    let resources = json!({ "listChanged": true, "subscribe": abilities.subscriptions });
    declare("resources", abilities.resources, resources);
    declare("prompts", abilities.prompts, json!({ "listChanged": true }));
    declare("completions", abilities.completions, json!({}));
    declare("logging", abilities.logs && era == Era::Legacy, json!({}));
    capabilities
}

async fn set_level(client: &Client, request: &FeatureRequest) -> Result<Value, RpcError> {
    let level = request.string_param("level")?.parse::<LogLevel>();
    let level =
        level.map_err(|problem| RpcError::new(code::INVALID_PARAMS, problem.to_string()))?;
    client.link.set_log_level(level);
    sync_log_levels(&client.gateway).await;
    Ok(json!({}))
}

/// Requests those log messages from all servers that the connected clients want.
pub(crate) async fn sync_log_levels(gateway: &Gateway) {
    let servers = gateway.upstreams.servers();
    let all = servers.iter().map(|upstream| upstream.sync_log_level());
    futures_util::future::join_all(all).await;
}
