//! The methods of the protocol beside tools: resources, prompts, completion, the log, subscriptions.
//!
//! Each request to a server is a call of a capability, so it is decided, recorded, charged and
//! firewalled as a tool call is. What may not be seen is answered as what is not there.

use serde_json::{Map, Value, json};
use weaver_drivers::mcp::LogLevel;

use super::call::CallOptions;
use super::client::Client;
use super::era::Era;
use super::feature_request::FeatureRequest;
use super::feature_snapshot::Abilities;
use super::gateway::Gateway;
use super::message::{Request, RpcError, code};
use super::{completion, prompts, resources, subscriptions};

/// Answers a request; `None` where the method is none of these, or not one of the era.
pub(crate) async fn answer(
    client: &Client,
    era: Era,
    request: &Request,
    options: CallOptions,
) -> Option<Result<Value, RpcError>> {
    let (id, params) = (request.id.clone(), request.params.clone());
    let asked = FeatureRequest { era, id, params, options };
    Some(match (request.method.as_str(), era) {
        ("resources/list", _) => resources::list(client, asked).await,
        ("resources/templates/list", _) => resources::templates(client, asked).await,
        ("resources/read", _) => resources::read(client, asked).await,
        ("prompts/list", _) => prompts::list(client, asked).await,
        ("prompts/get", _) => prompts::get(client, asked).await,
        ("completion/complete", _) => completion::complete(client, asked).await,
        ("resources/subscribe", Era::Legacy) => subscriptions::subscribe(client, asked).await,
        ("resources/unsubscribe", Era::Legacy) => subscriptions::unsubscribe(client, asked).await,
        ("subscriptions/listen", Era::Modern) => subscriptions::listen(client, asked).await,
        ("logging/setLevel", Era::Legacy) => set_level(client, &asked).await,
        _ => return None,
    })
}

/// What is declared to a client beside tools: what some server can do, and everything while one of
/// them may still say what it can do.
pub(crate) fn declared(gateway: &Gateway, era: Era) -> Map<String, Value> {
    let known = gateway.upstreams.features().abilities;
    let all = Abilities {
        resources: true,
        prompts: true,
        completions: true,
        subscriptions: true,
        logs: true,
    };
    let abilities = match gateway.upstreams.are_settled() {
        true => known,
        false => all,
    };
    let mut out = Map::new();
    let mut declare = |name: &str, can: bool, value: Value| {
        if can {
            out.insert(name.to_owned(), value);
        }
    };
    let resources = json!({ "listChanged": true, "subscribe": abilities.subscriptions });
    declare("resources", abilities.resources, resources);
    declare("prompts", abilities.prompts, json!({ "listChanged": true }));
    declare("completions", abilities.completions, json!({}));
    declare("logging", abilities.logs && era == Era::Legacy, json!({}));
    out
}

async fn set_level(client: &Client, asked: &FeatureRequest) -> Result<Value, RpcError> {
    let level = asked.text("level")?.parse::<LogLevel>();
    let level =
        level.map_err(|problem| RpcError::new(code::INVALID_PARAMS, problem.to_string()))?;
    client.link.set_log_level(level);
    want_log(&client.gateway, level).await;
    Ok(json!({}))
}

/// Asks the servers for messages from this level on, if no client wanted more before.
pub(crate) async fn want_log(gateway: &Gateway, level: LogLevel) {
    let all = gateway.upstreams.entries().map(|entry| entry.want_log(level));
    futures_util::future::join_all(all).await;
}
