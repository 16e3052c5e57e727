//! Gateway mode: a few tools instead of hundreds, schemas only on demand.

use std::time::Duration;

use serde_json::{Map, Value, json};
use weaver_agent_kernel::Caller;
use weaver_firewall::HandleQuery;
use weaver_types::{
    CapabilityId, CapabilityRequest, Check, Contribution, Discharge, HandleId, JustificationSource,
    ReasonCode, ResponseMode, Verdict,
};

use super::browse;
use super::call::{self, CallOptions, CallOutcome, CallRequest};
use super::call_argument_error::CallArgumentError;
use super::client::Client;
use super::definitions::MAX_ROWS;
use super::error::ServeError;
use super::execute_tool::{self, ExecuteTool};
use super::message::{RpcError, code, shown};
use super::near_name;
use super::render::{self, Reply};

const MAX_JUSTIFICATION: usize = 4_000;
/// How long the first connection attempts may last before a search goes on without their tools.
const PATIENCE: Duration = Duration::from_secs(25);

/// Answers a call to one of these tools.
pub(crate) async fn call(
    client: &Client,
    name: &str,
    arguments: Value,
    mut options: CallOptions,
) -> Result<Reply, RpcError> {
    let offered = client.profile.execute_tools;
    let execute_tool = ExecuteTool::named(offered, name);
    let known: &[&str] = match (name, execute_tool) {
        ("tool_browse", _) => &["query", "capability", "k", "page"],
        (_, Some(_)) => &["capability", "arguments", "justification", "mode"],
        ("tool_view", None) => &[
            "handle", "offset", "limit", "fields", "filter", "sort", "aggregate", "group_by",
            "view", "args",
        ],
        (other, None) => {
            let names = execute_tool::names(offered).replace(", ", " or ");
            let problem =
                format!("no tool `{}` here; call {names} with its capability id", shown(other));
            return Err(RpcError::new(code::INVALID_PARAMS, problem));
        }
    };
    let Value::Object(arguments) = arguments else {
        return Ok(Reply::usage("`arguments` must be an object"));
    };
    let stray = arguments.keys().find(|key| !known.contains(&key.as_str()));
    let stray = stray.map(|key| unknown_key(key, known));
    let argument_problem = stray.or(options.argument_problem.take());
    let answered = match (execute_tool, argument_problem) {
        (Some(tool), argument_problem) => {
            execute(client, tool, arguments, CallOptions { argument_problem, ..options }).await
        }
        (None, Some(argument_problem)) => return Ok(Reply::usage(argument_problem)),
        (None, None) if name == "tool_browse" => browse::call(client, &arguments).await,
        (None, None) => view(client, arguments).await,
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
    Reply::error(body)
}

fn unknown_key(key: &str, known: &[&str]) -> String {
    match weaver_text::suggest::nearest(key, known.iter().copied()) {
        Some(meant) => format!("unknown key `{}`; did you mean `{meant}`?", shown(key)),
        None => format!("unknown key `{}`; the keys are {}", shown(key), known.join(", ")),
    }
}

async fn execute(
    client: &Client,
    tool: ExecuteTool,
    mut arguments: Map<String, Value>,
    options: CallOptions,
) -> Result<Reply, ServeError> {
    if let Some(Value::String(id)) = arguments.get_mut("capability") {
        *id = browse::full_id(client, id);
    }
    let (request, mode) = match read_call(&arguments) {
        Ok(call) => call,
        Err(error) => return malformed(client, &arguments, error.to_string()).await,
    };
    // What is not known, or not visible, is refused as such by the kernel.
    let entry = client.gateway.registry.get(&request.capability_id);
    let entry = entry.filter(|_| client.visible(&request.capability_id));
    let refusal = entry.and_then(|entry| {
        let policy = client.gateway.kernel.policy();
        let tools = client.profile.execute_tools;
        let right = ExecuteTool::of(tools, entry.capability(), &policy);
        tool.refusal(right, entry.capability().id())
    });
    if let Some(problem) = refusal {
        return malformed(client, &arguments, problem).await;
    }
    let inner = arguments.remove("arguments").unwrap_or_else(|| Value::Object(Map::new()));
    let asked = request.capability_id.clone();
    let called =
        call::run(client, CallRequest { request, arguments: &inner, mode, options }).await?;
    let mut reply = render::invocation(client, &called, None);
    if called.invocation.decision.primary() == ReasonCode::NotFound {
        reply.add_to_message(&near_name::hint(client, asked.as_str()));
    }
    Ok(reply)
}

/// What is asked for.
fn read_call(
    arguments: &Map<String, Value>,
) -> Result<(CapabilityRequest, ResponseMode), CallArgumentError> {
    let Some(Value::String(id)) = arguments.get("capability") else {
        return Err(CallArgumentError::Capability);
    };
    let id =
        CapabilityId::parse(id).map_err(|_| CallArgumentError::CapabilityId { id: shown(id) })?;
    let mode = match arguments.get("mode").map(|mode| mode.as_str()) {
        None | Some(Some("auto")) => ResponseMode::Auto,
        Some(Some("summary")) => ResponseMode::Summary,
        Some(Some("raw")) => ResponseMode::Raw,
        Some(Some("table")) => ResponseMode::Table,
        Some(Some("handle_only")) => ResponseMode::HandleOnly,
        Some(_) => return Err(CallArgumentError::Mode),
    };
    let request = CapabilityRequest::new(id, "");
    match arguments.get("justification") {
        None | Some(Value::Null) => Ok((request, mode)),
        Some(Value::String(text)) if text.len() <= MAX_JUSTIFICATION => {
            Ok((request.justified(text.clone(), JustificationSource::Model), mode))
        }
        Some(_) => {
            Err(CallArgumentError::Justification { key: "justification", most: MAX_JUSTIFICATION })
        }
    }
}

/// Refuses a call that cannot be read, and records it under the name that it gave.
async fn malformed(
    client: &Client,
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
    let done = client.reject(&CapabilityRequest::new(id, ""), said).await?;
    Ok(render::invocation(client, &CallOutcome::immediate(done), None))
}

async fn view(client: &Client, mut arguments: Map<String, Value>) -> Result<Reply, ServeError> {
    let Some(Value::String(id)) = arguments.remove("handle") else {
        return Ok(Reply::usage("`handle` must be a handle id from an earlier answer"));
    };
    let Ok(id) = HandleId::parse(&id) else {
        return Ok(Reply::usage(format!("`{}` is no handle id", shown(&id))));
    };
    let question = Value::Object(arguments);
    let query = match HandleQuery::parse(&question) {
        Ok(query) => query,
        Err(error) => return Ok(Reply::usage(error.to_string())),
    };
    if query.limit.is_some_and(|limit| limit > MAX_ROWS) {
        return Ok(Reply::usage(format!("`limit` is at most {MAX_ROWS}; page on with `offset`")));
    }
    // A handle of an earlier process is decided by its tool, which may not be listed yet.
    client.gateway.upstreams.settled(PATIENCE).await;
    let run = client.run().await?;
    let principal = client.principal()?;
    let caller = Caller { run: &run, principal: &principal };
    // What another client has is its own as long as it is there. Results of one that is gone can be
    // read on: some clients are a process a call.
    let others = client.gateway.runs_of_clients()?;
    let done = client.gateway.kernel.expand_apart_from(caller, &id, &query, &others).await;
    Ok(render::invocation(client, &CallOutcome::immediate(done), Some(&question)))
}
