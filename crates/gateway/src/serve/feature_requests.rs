//! The methods of the protocol beside tools: resources, prompts, completion, the log, subscriptions.
//!
//! Each request to a server is a call of a capability, so it is decided, recorded, charged and
//! firewalled as a tool call is. What may not be seen is answered as what is not there.

use serde_json::{Map, Value, json};
use weaver_drivers::mcp::LogLevel;
use weaver_types::{
    CapabilityId, CapabilityRequest, Check, Contribution, JustificationSource, ReasonCode,
    ResponseMode, Verdict,
};

use super::call::{self, CallOptions, CallRequest};
use super::client::Client;
use super::dispatch::Era;
use super::feature_snapshot::Abilities;
use super::gateway::Gateway;
use super::message::{Request, RpcError, code};
use super::render::{self, Reply};
use super::{completion, meta_tools, prompts, resources, subscriptions};

/// Where a client says why it reads, for policies that want a reason.
const JUSTIFICATION: &str = "weaver/justification";
/// Where a request of the modern era says which log messages it wants.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// One request of a client.
pub(crate) struct FeatureRequest {
    pub(crate) era: Era,
    pub(crate) id: Value,
    pub(crate) params: Map<String, Value>,
    pub(crate) options: CallOptions,
}

impl FeatureRequest {
    /// A parameter that has to be a text.
    pub(crate) fn text(&self, key: &str) -> Result<String, RpcError> {
        match self.params.get(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            _ => Err(RpcError::new(code::INVALID_PARAMS, format!("`{key}` must be a string"))),
        }
    }

    /// The cursor of a list.
    pub(crate) fn cursor(&self) -> Result<Option<&str>, RpcError> {
        match self.params.get("cursor") {
            None => Ok(None),
            Some(Value::String(cursor)) => Ok(Some(cursor)),
            Some(_) => Err(RpcError::new(code::INVALID_PARAMS, "`cursor` must be a string")),
        }
    }

    /// What the client says beside the parameters.
    fn meta(&self, key: &str) -> Option<&str> {
        self.params.get("_meta")?.get(key)?.as_str()
    }
}

/// Answers a request; `None` where the method is none of these, or not one of the era.
pub(crate) async fn answer(
    client: &Client,
    era: Era,
    request: &Request,
    options: CallOptions,
) -> Option<Result<Value, RpcError>> {
    let (id, params) = (request.id.clone(), request.params.clone());
    let asked = FeatureRequest { era, id, params, options };
    let level = asked.meta(LOG_LEVEL).and_then(|level| level.parse::<LogLevel>().ok());
    let _level = match level {
        Some(level) if era == Era::Modern => {
            want_log(&client.gateway, level).await;
            Some(client.link.hold_log_level(level))
        }
        _ => None,
    };
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
async fn want_log(gateway: &Gateway, level: LogLevel) {
    let all = gateway.upstreams.entries().map(|entry| entry.want_log(level));
    futures_util::future::join_all(all).await;
}

/// A call of a capability of a server that is no tool.
pub(crate) async fn call(
    client: &Client,
    id: CapabilityId,
    arguments: Value,
    asked: FeatureRequest,
) -> Result<Reply, RpcError> {
    let mut request = CapabilityRequest::new(id, "");
    if let Some(reason) = asked.meta(JUSTIFICATION) {
        request = request.justified(reason.to_owned(), JustificationSource::Model);
    }
    let (era, mode, options) = (asked.era, ResponseMode::Auto, asked.options);
    let called =
        call::run(client, CallRequest { request, arguments: &arguments, mode, options }).await;
    let reply =
        called.map_or_else(meta_tools::failed, |called| render::invocation(client, &called, None));
    if reply.is_error { Err(failure(reply, era)) } else { Ok(reply) }
}

/// A refusal or a failure as a JSON-RPC error. Its data is what a tool call would have as its result.
fn failure(reply: Reply, era: Era) -> RpcError {
    let body = reply.structured.unwrap_or_default();
    let said = body.get("message").and_then(Value::as_str).unwrap_or("the call failed").to_owned();
    let missing = body.pointer("/error/code").and_then(Value::as_str) == Some("NOT_FOUND");
    let code = match (missing, era) {
        (true, Era::Legacy) => code::RESOURCE_NOT_FOUND,
        (true, Era::Modern) => code::INVALID_PARAMS,
        (false, _) => code::REFUSED,
    };
    RpcError { data: Some(body), ..RpcError::new(code, said) }
}

/// Records that somebody asked for what is not there, as for a tool.
pub(crate) async fn note_unknown(client: &Client, name: &str) {
    let Ok(id) = CapabilityId::parse(name).or_else(|_| CapabilityId::parse("unknown")) else {
        return;
    };
    let (request, reason) = (CapabilityRequest::new(id, ""), ReasonCode::NotFound);
    let said = Contribution::new(Check::System, Verdict::Deny, reason, "nothing of that name");
    if let Err(error) = call::reject(client, &request, said).await {
        tracing::error!(%error, "a refusal could not be recorded");
    }
}

/// Adds what the modern era wants in every result.
pub(crate) fn complete(mut result: Map<String, Value>, era: Era) -> Value {
    if era == Era::Modern {
        result.insert("resultType".to_owned(), json!("complete"));
    }
    Value::Object(result)
}

/// Adds what the modern era wants in results that could be cached: nobody should.
pub(crate) fn uncached(mut result: Map<String, Value>, era: Era) -> Value {
    if era == Era::Modern {
        result.insert("ttlMs".to_owned(), json!(0));
        result.insert("cacheScope".to_owned(), json!("private"));
    }
    complete(result, era)
}
