//! Gateway mode: three tools instead of hundreds, schemas only on demand.

use serde_json::{Map, Value, json};
use weaver_agent_kernel::{Call, Invocation};
use weaver_firewall::HandleQuery;
use weaver_text::token::CharsPerFour;
use weaver_types::{
    CapabilityId, CapabilityRequest, Check, Contribution, Discharge, HandleId, JustificationSource,
    ReasonCode, ResponseMode, Verdict,
};

use super::dispatch::shown;
use super::error::ServeError;
use super::gateway::Gateway;
use super::message::{RpcError, code};
use super::render::{self, Reply};

const MAX_SHORTLIST: u64 = 20;
const MAX_QUERY: usize = 4_000;

/// The three tools.
pub(crate) fn definitions() -> Vec<Value> {
    vec![browse_definition(), execute_definition(), view_definition()]
}

fn browse_definition() -> Value {
    json!({
        "name": "tool_browse",
        "title": "Find tools",
        "description": "Find tools for a goal, best first. With `capability` instead of `query`, get the input schema of that one tool. Being listed is no permission.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "The goal, in a few words." },
                "capability": { "type": "string", "description": "A capability id from an earlier answer." },
                "k": { "type": "integer", "minimum": 1, "maximum": MAX_SHORTLIST, "description": "How many tools at most." },
            },
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

fn execute_definition() -> Value {
    json!({
        "name": "tool_execute",
        "title": "Run a tool",
        "description": "Run a tool found with tool_browse. The answer holds facts or rows and, for more, a handle for tool_view. A refusal names its verdict and reason.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "capability": { "type": "string", "description": "The capability id, for example `files.read_note`." },
                "arguments": { "type": "object", "description": "The tool's arguments, by its schema." },
                "justification": { "type": "string", "description": "Why this call is needed; recorded as your own words." },
                "mode": { "enum": ["summary", "table", "handle_only"], "description": "How much to show; summary by default." },
            },
            "required": ["capability"],
            "additionalProperties": false,
        },
    })
}

fn view_definition() -> Value {
    json!({
        "name": "tool_view",
        "title": "Look further into a result",
        "description": "Show rows of a result that was stored behind a handle.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "handle": { "type": "string", "description": "The handle id." },
                "offset": { "type": "integer", "minimum": 0, "description": "Rows to pass over." },
                "limit": { "type": "integer", "minimum": 1, "description": "Rows at most." },
                "fields": { "type": "array", "items": { "type": "string" }, "description": "Only these fields." },
            },
            "required": ["handle"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

/// Answers a call of one of the three.
pub(crate) async fn call(
    gateway: &Gateway,
    name: &str,
    arguments: Value,
    flaw: Option<String>,
) -> Result<Reply, RpcError> {
    let known: &[&str] = match name {
        "tool_browse" => &["query", "capability", "k"],
        "tool_execute" => &["capability", "arguments", "justification", "mode"],
        "tool_view" => &["handle", "offset", "limit", "fields"],
        other => {
            let problem = format!(
                "no tool `{}` here; call tool_execute with its capability id",
                shown(other)
            );
            return Err(RpcError::new(code::INVALID_PARAMS, problem));
        }
    };
    let Value::Object(arguments) = arguments else {
        return Ok(Reply::usage("`arguments` must be an object"));
    };
    if let Some(key) = arguments.keys().find(|key| !known.contains(&key.as_str())) {
        return Ok(Reply::usage(unknown_key(key, known)));
    }
    let answered = match name {
        "tool_browse" => browse(gateway, &arguments).await,
        "tool_execute" => execute(gateway, arguments, flaw).await,
        _ => view(gateway, arguments).await,
    };
    answered.map_err(internal)
}

pub(crate) fn internal(error: ServeError) -> RpcError {
    tracing::error!(%error, "a request failed inside");
    RpcError::new(code::INTERNAL, format!("{}: {error}", error.code()))
}

fn unknown_key(key: &str, known: &[&str]) -> String {
    match weaver_text::suggest::nearest(key, known.iter().copied()) {
        Some(meant) => format!("unknown key `{}`; did you mean `{meant}`?", shown(key)),
        None => format!("unknown key `{}`; the keys are {}", shown(key), known.join(", ")),
    }
}

async fn browse(gateway: &Gateway, arguments: &Map<String, Value>) -> Result<Reply, ServeError> {
    gateway.upstreams.fresh(gateway).await;
    let k = match arguments.get("k") {
        None => gateway.config.shortlist,
        Some(k) => match k.as_u64() {
            Some(k @ 1..=MAX_SHORTLIST) => usize::try_from(k).unwrap_or(1),
            _ => {
                return Ok(Reply::usage(format!(
                    "`k` must be a whole number from 1 to {MAX_SHORTLIST}"
                )));
            }
        },
    };
    match (arguments.get("query"), arguments.get("capability")) {
        (Some(Value::String(query)), None) if query.len() <= MAX_QUERY => {
            shortlist(gateway, query, k).await
        }
        (Some(Value::String(_)), None) => {
            Ok(Reply::usage(format!("`query` is longer than {MAX_QUERY} bytes")))
        }
        (None, Some(Value::String(id))) => Ok(schema(gateway, id)),
        _ => Ok(Reply::usage(
            "give either `query` (the goal in words) or `capability` (an id), as text",
        )),
    }
}

async fn shortlist(gateway: &Gateway, query: &str, k: usize) -> Result<Reply, ServeError> {
    let run = gateway.run().await?;
    let shelf = gateway.shelf();
    let cards = match &shelf.router {
        Some(router) => {
            let hits = router.route_where(query, k, |id| gateway.visible(id));
            router.cards(&hits, &CharsPerFour)
        }
        None => Vec::new(),
    };
    let ids: Vec<CapabilityId> = cards.iter().map(|card| card.id.clone()).collect();
    gateway.kernel.record_shortlist(gateway.caller(&run), query, &ids).await?;
    let mut body = json!({ "tools": cards });
    let away = gateway.upstreams.away();
    if let (Some(body), false) = (body.as_object_mut(), away.is_empty()) {
        let away: Vec<Value> = away
            .iter()
            .map(|(name, problem)| json!({ "server": name, "problem": problem }))
            .collect();
        body.insert("unavailable".to_owned(), Value::Array(away));
    }
    Ok(Reply::ok(body))
}

fn schema(gateway: &Gateway, id: &str) -> Reply {
    let found = CapabilityId::parse(id)
        .ok()
        .filter(|id| gateway.visible(id))
        .and_then(|id| gateway.registry.get(&id));
    match found {
        Some(entry) => {
            let spec = entry.capability().spec();
            let (description, _) = gateway.kernel.firewall().redact_value(&json!(spec.description));
            Reply::ok(
                json!({ "capability": spec.id, "description": description, "inputSchema": spec.input_schema }),
            )
        }
        None => Reply {
            body: json!({
                "verdict": Verdict::Deny,
                "reason": ReasonCode::NotFound,
                "message": format!("no capability `{}` is known here; find one with a query", shown(id)),
            }),
            is_error: true,
        },
    }
}

async fn execute(
    gateway: &Gateway,
    mut arguments: Map<String, Value>,
    flaw: Option<String>,
) -> Result<Reply, ServeError> {
    let Some(Value::String(id)) = arguments.get("capability") else {
        return Ok(Reply::usage("`capability` must be a capability id; find one with tool_browse"));
    };
    let Ok(id) = CapabilityId::parse(id) else {
        return Ok(Reply::usage(format!(
            "`{}` is no capability id; find one with tool_browse",
            shown(id)
        )));
    };
    let mode = match arguments.get("mode").map(|mode| mode.as_str()) {
        None | Some(Some("summary")) => ResponseMode::Summary,
        Some(Some("table")) => ResponseMode::Table,
        Some(Some("handle_only")) => ResponseMode::HandleOnly,
        Some(_) => return Ok(Reply::usage("`mode` must be summary, table or handle_only")),
    };
    let mut request = CapabilityRequest::new(id, "");
    match arguments.get("justification") {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => {
            request = request.justified(text.clone(), JustificationSource::Model)
        }
        Some(_) => return Ok(Reply::usage("`justification` must be text")),
    }
    let inner = arguments.remove("arguments").unwrap_or_else(|| Value::Object(Map::new()));
    let done = run(gateway, &request, &inner, mode, flaw).await?;
    Ok(render::invocation(&done))
}

/// Runs a call through the kernel; also one that only a proxy's client sees by another name.
pub(crate) async fn run(
    gateway: &Gateway,
    request: &CapabilityRequest,
    arguments: &Value,
    mode: ResponseMode,
    flaw: Option<String>,
) -> Result<Invocation, ServeError> {
    let run = gateway.run().await?;
    let caller = gateway.caller(&run);
    if let Some(flaw) = flaw {
        let said = Contribution::new(
            Check::Justification,
            Verdict::Ask,
            ReasonCode::InvalidArguments,
            flaw,
        )
        .discharged_by(Discharge::Arguments);
        return Ok(gateway.kernel.reject(caller, request, said).await);
    }
    if let Some(problem) = unavailable(gateway, &request.capability_id).await {
        let said = Contribution::new(
            Check::System,
            Verdict::Deny,
            ReasonCode::UpstreamUnavailable,
            problem,
        )
        .discharged_by(Discharge::Wait { retry_after_ms: 10_000 });
        return Ok(gateway.kernel.reject(caller, request, said).await);
    }
    let call = Call { request, arguments: Some(arguments), mode };
    Ok(gateway.kernel.execute(caller, call).await)
}

/// Why the server of an unlisted tool is away; `None` when the tool is listed, or its server is
/// there after another look.
async fn unavailable(gateway: &Gateway, id: &CapabilityId) -> Option<String> {
    if gateway.registry.contains(id) {
        return None;
    }
    let entry = gateway.upstreams.of(id.as_str())?;
    entry.wait_settled().await;
    if entry.problem().is_some() {
        // It may be back by now.
        let _ = entry.refresh(gateway).await;
    }
    entry.problem()
}

async fn view(gateway: &Gateway, mut arguments: Map<String, Value>) -> Result<Reply, ServeError> {
    let Some(Value::String(id)) = arguments.remove("handle") else {
        return Ok(Reply::usage("`handle` must be a handle id from an earlier answer"));
    };
    let Ok(id) = HandleId::parse(&id) else {
        return Ok(Reply::usage(format!("`{}` is no handle id", shown(&id))));
    };
    let query = match HandleQuery::parse(&Value::Object(arguments)) {
        Ok(query) => query,
        Err(error) => return Ok(Reply::usage(error.to_string())),
    };
    let run = gateway.run().await?;
    let done = gateway.kernel.expand(gateway.caller(&run), &id, &query).await;
    Ok(render::invocation(&done))
}
