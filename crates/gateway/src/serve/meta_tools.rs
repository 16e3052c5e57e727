//! Gateway mode: three tools instead of hundreds, schemas only on demand.

use std::sync::Arc;
use std::time::Duration;

use contextweaver::card;
use serde_json::{Map, Value, json};
use weaver_agent_kernel::Caller;
use weaver_firewall::HandleQuery;
use weaver_text::token::CharsPerFour;
use weaver_types::{
    CapabilityId, CapabilityRequest, Check, Contribution, Discharge, HandleId, JustificationSource,
    ReasonCode, ResponseMode, Verdict,
};

use super::call::{self, Asked, Called, Manner};
use super::definitions::{MAX_ROWS, MAX_SHORTLIST};
use super::described;
use super::dispatch::shown;
use super::error::ServeError;
use super::gateway::Gateway;
use super::message::{RpcError, code};
use super::render::{self, Reply};

const MAX_QUERY: usize = 4_000;
const MAX_JUSTIFICATION: usize = 4_000;
/// How long a search waits for the first connection attempts; it can be repeated.
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers a call of one of the three.
pub(crate) async fn call(
    gateway: &Arc<Gateway>,
    name: &str,
    arguments: Value,
    manner: Manner,
) -> Result<Reply, RpcError> {
    let known: &[&str] = match name {
        "tool_browse" => &["query", "capability", "k"],
        "tool_execute" => &["capability", "arguments", "justification", "mode"],
        "tool_view" => &[
            "handle",
            "offset",
            "limit",
            "fields",
            "filter",
            "sort",
            "aggregate",
            "group_by",
            "view",
            "args",
        ],
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
    let stray = arguments.keys().find(|key| !known.contains(&key.as_str()));
    let stray = stray.map(|key| unknown_key(key, known));
    let Manner { flaw, wanted } = manner;
    let answered = match (name, stray.or(flaw)) {
        ("tool_execute", flaw) => execute(gateway, arguments, Manner { flaw, wanted }).await,
        (_, Some(flaw)) => return Ok(Reply::usage(flaw)),
        ("tool_browse", None) => browse(gateway, &arguments).await,
        (_, None) => view(gateway, arguments).await,
    };
    Ok(answered.unwrap_or_else(failed))
}

/// The answer when something inside failed: nothing was executed, and the agent is told so.
pub(crate) fn failed(error: ServeError) -> Reply {
    tracing::error!(%error, "a request failed inside");
    let reason = match &error {
        ServeError::Store(_) | ServeError::Kernel(_) => ReasonCode::LedgerUnavailable,
        _ => ReasonCode::InternalError,
    };
    let message = format!("{reason}: {error}. Nothing was executed. Tell the user.");
    let body = json!({ "verdict": Verdict::Deny, "reason": reason, "message": message });
    Reply { body, is_error: true }
}

fn unknown_key(key: &str, known: &[&str]) -> String {
    match weaver_text::suggest::nearest(key, known.iter().copied()) {
        Some(meant) => format!("unknown key `{}`; did you mean `{meant}`?", shown(key)),
        None => format!("unknown key `{}`; the keys are {}", shown(key), known.join(", ")),
    }
}

async fn browse(
    gateway: &Arc<Gateway>,
    arguments: &Map<String, Value>,
) -> Result<Reply, ServeError> {
    gateway.upstreams.fresh(gateway, PATIENCE).await;
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
        (None, Some(Value::String(id))) => Ok(schema(gateway, &whole(gateway, id))),
        _ => Ok(Reply::usage(
            "give either `query` (the goal in words) or `capability` (an id), as text",
        )),
    }
}

async fn shortlist(gateway: &Gateway, query: &str, k: usize) -> Result<Reply, ServeError> {
    let run = gateway.run().await?;
    let shelf = gateway.shelf();
    let mut cards = match &shelf.router {
        Some(router) => {
            let hits = router.route_where(query, k, |id| gateway.offered(id));
            router.cards(&hits, &CharsPerFour)
        }
        None => Vec::new(),
    };
    for card in &mut cards {
        card.name = gateway.kernel.firewall().redact_text(&card.name).text;
        card.description = gateway.kernel.firewall().redact_text(&card.description).text;
    }
    let ids: Vec<CapabilityId> = cards.iter().map(|card| card.id.clone()).collect();
    let caller = Caller { run: &run, principal: &gateway.principal() };
    gateway.kernel.record_shortlist(caller, query, &ids).await?;
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
    let refused = |reason: ReasonCode, message: String| Reply {
        body: json!({ "verdict": Verdict::Deny, "reason": reason, "message": message }),
        is_error: true,
    };
    let found = CapabilityId::parse(id)
        .ok()
        .filter(|id| gateway.visible(id))
        .and_then(|id| Some((gateway.registry.get(&id)?, gateway.changed(&id))));
    match found {
        Some((_, Some(said))) => refused(said.reason, said.detail),
        Some((entry, None)) => {
            let spec = entry.capability().spec();
            let firewall = gateway.kernel.firewall();
            Reply::ok(json!({
                "capability": spec.id,
                "description": described::words(firewall, &spec.description),
                "inputSchema": spec.input_schema.as_ref().map(|schema| described::schema(firewall, schema)),
            }))
        }
        None => refused(
            ReasonCode::NotFound,
            format!("no capability `{}` is known here; find one with a query", shown(id)),
        ),
    }
}

/// The id that a card has shown: itself, or the long one that was cut for the card. What may not be
/// seen is not looked for.
fn whole(gateway: &Gateway, text: &str) -> String {
    let shelf = gateway.shelf();
    let catalog = shelf.router.as_ref().map(contextweaver::route::Router::catalog);
    let items =
        catalog.filter(|_| card::looks_cut(text)).map(contextweaver::catalog::Catalog::iter);
    let ids = items.into_iter().flatten().map(|item| &item.id).filter(|id| gateway.visible(id));
    card::full_id(text, ids).map_or_else(|| text.to_owned(), ToString::to_string)
}

async fn execute(
    gateway: &Gateway,
    mut arguments: Map<String, Value>,
    manner: Manner,
) -> Result<Reply, ServeError> {
    if let Some(Value::String(id)) = arguments.get_mut("capability") {
        *id = whole(gateway, id);
    }
    let (request, mode) = match read_call(&arguments) {
        Ok(call) => call,
        Err(problem) => return malformed(gateway, &arguments, problem).await,
    };
    let inner = arguments.remove("arguments").unwrap_or_else(|| Value::Object(Map::new()));
    let called = call::run(gateway, Asked { request, arguments: &inner, mode, manner }).await?;
    Ok(render::invocation(gateway, &called))
}

/// What is asked for, or what is wrong with it.
fn read_call(arguments: &Map<String, Value>) -> Result<(CapabilityRequest, ResponseMode), String> {
    let Some(Value::String(id)) = arguments.get("capability") else {
        return Err("`capability` must be a capability id; find one with tool_browse".to_owned());
    };
    let id = CapabilityId::parse(id)
        .map_err(|_| format!("`{}` is no capability id; find one with tool_browse", shown(id)))?;
    let mode = match arguments.get("mode").map(|mode| mode.as_str()) {
        None | Some(Some("summary")) => ResponseMode::Summary,
        Some(Some("table")) => ResponseMode::Table,
        Some(Some("handle_only")) => ResponseMode::HandleOnly,
        Some(_) => return Err("`mode` must be summary, table or handle_only".to_owned()),
    };
    let request = CapabilityRequest::new(id, "");
    match arguments.get("justification") {
        None | Some(Value::Null) => Ok((request, mode)),
        Some(Value::String(text)) if text.len() <= MAX_JUSTIFICATION => {
            Ok((request.justified(text.clone(), JustificationSource::Model), mode))
        }
        Some(_) => {
            Err(format!("`justification` must be text of at most {MAX_JUSTIFICATION} bytes"))
        }
    }
}

/// Refuses a call that cannot be read, and records it under the name that it gave.
async fn malformed(
    gateway: &Gateway,
    arguments: &Map<String, Value>,
    problem: String,
) -> Result<Reply, ServeError> {
    let named = arguments.get("capability").and_then(Value::as_str).unwrap_or_default();
    let Ok(id) = CapabilityId::parse(named).or_else(|_| CapabilityId::parse("unknown")) else {
        return Ok(Reply::usage(problem));
    };
    let reason = ReasonCode::InvalidArguments;
    let said = Contribution::new(Check::Justification, Verdict::Ask, reason, problem)
        .discharged_by(Discharge::Arguments);
    let done = call::reject(gateway, &CapabilityRequest::new(id, ""), said).await?;
    Ok(render::invocation(gateway, &Called::at_once(done)))
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
    if query.limit.is_some_and(|limit| limit > MAX_ROWS) {
        return Ok(Reply::usage(format!("`limit` is at most {MAX_ROWS}; page on with `offset`")));
    }
    // A handle of an earlier process is decided by its tool, which may not be listed yet.
    gateway.upstreams.settled(PATIENCE).await;
    let run = gateway.run().await?;
    let caller = Caller { run: &run, principal: &gateway.principal() };
    let done = gateway.kernel.expand(caller, &id, &query).await;
    Ok(render::invocation(gateway, &Called::at_once(done)))
}
