//! Gateway mode: three meta tools instead of hundreds of tools, with schemas on demand.

use serde_json::{Map, Value, json};
use weaver_agent_kernel::Caller;
use weaver_firewall::HandleQuery;
use weaver_types::{
    CapabilityId, CapabilityRequest, CheckKind, CheckResult, HandleId, JustificationSource,
    ReasonCode, Remedy, ResponseMode, Verdict,
};

use super::browse;
use super::call::{self, CallOptions, CallOutcome, CallRequest};
use super::call_argument_error::CallArgumentError;
use super::client::Client;
use super::error::ServeError;
use super::execute_tool::{self, ExecuteTool};
use super::managed_server::CALL_START_WAIT;
use super::message::{self, RpcError, code, excerpt};
use super::meta_tool_definitions::MAX_ROWS;
use super::name_suggestion;
use super::render::{self, Reply};

const MAX_JUSTIFICATION_BYTES: usize = 4_000;

/// Answers a call of a meta tool.
pub(crate) async fn call(
    client: &Client,
    name: &str,
    arguments: Value,
    mut options: CallOptions,
) -> Result<Reply, RpcError> {
    let offered = client.profile.execute_tools;
    let execute_tool = ExecuteTool::by_name(offered, name);
    let known_keys: &[&str] = match (name, execute_tool) {
        ("tool_browse", _) => &["query", "capability", "k", "page"],
        (_, Some(_)) => &["capability", "arguments", "justification", "mode"],
        ("tool_view", None) => &[
            "handle", "offset", "char_offset", "limit", "fields", "filter", "sort", "aggregate",
            "group_by", "view", "args",
        ],
        (other, None) => {
            let names = execute_tool::joined_names(offered).replace(", ", " or ");
            let problem =
                format!("no tool `{}` here; call {names} with its capability id", excerpt(other));
            return Err(RpcError::new(code::INVALID_PARAMS, problem));
        }
    };
    let Value::Object(arguments) = arguments else {
        return Ok(Reply::usage_error("`arguments` must be an object"));
    };
    let unknown = arguments.keys().find(|key| !known_keys.contains(&key.as_str()));
    let unknown = unknown.map(|key| unknown_key(key, known_keys));
    let argument_problem = unknown.or(options.argument_problem.take());
    let reply = match (execute_tool, argument_problem) {
        (Some(tool), argument_problem) => {
            execute(client, tool, arguments, CallOptions { argument_problem, ..options }).await
        }
        (None, Some(argument_problem)) => return Ok(Reply::usage_error(argument_problem)),
        (None, None) if name == "tool_browse" => browse::answer(client, &arguments).await,
        (None, None) => Box::pin(view_result(client, arguments)).await,
    };
    Ok(reply.unwrap_or_else(internal_failure))
}

/// The answer to an internal failure: nothing was executed, and the agent is told so.
pub(crate) fn internal_failure(error: ServeError) -> Reply {
    tracing::error!(%error, "a request failed internally");
    let reason = match &error {
        ServeError::Store(_) | ServeError::Kernel(_) => ReasonCode::LedgerUnavailable,
        _ => ReasonCode::InternalError,
    };
    let message = format!("{reason}: {error}. Nothing was executed. Tell the user.");
    let body = json!({ "verdict": Verdict::Deny, "reason": reason, "message": message });
    Reply::error(body)
}

fn unknown_key(key: &str, known_keys: &[&str]) -> String {
    match weaver_text::suggest::nearest(key, known_keys.iter().copied()) {
        Some(nearest) => format!("unknown key `{}`; did you mean `{nearest}`?", excerpt(key)),
        None => format!("unknown key `{}`; the keys are {}", excerpt(key), known_keys.join(", ")),
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
    let (request, mode) = match parse_call(&arguments) {
        Ok(call) => call,
        Err(error) => return reject_malformed(client, &arguments, error.to_string()).await,
    };
    // Unknown and hidden capabilities are refused as such.
    let entry = client.gateway.registry.get(&request.capability_id);
    let entry = entry.filter(|_| client.is_visible(&request.capability_id));
    let refusal = entry.and_then(|entry| {
        let policy = client.gateway.kernel.policy();
        let tools = client.profile.execute_tools;
        let responsible = ExecuteTool::for_capability(tools, entry.capability(), &policy);
        tool.refusal(responsible, entry.capability().id())
    });
    if let Some(problem) = refusal {
        return reject_malformed(client, &arguments, problem).await;
    }
    let tool_arguments = message::tool_arguments(arguments.remove("arguments"));
    let capability_id = request.capability_id.clone();
    let outcome =
        call::run(client, CallRequest { request, arguments: &tool_arguments, mode, options })
            .await?;
    let mut reply = render::reply_to_invocation(client, &outcome);
    if outcome.invocation.decision.primary_reason() == ReasonCode::NotFound {
        reply.add_to_message(&name_suggestion::hint(client, capability_id.as_str()));
    }
    Ok(reply)
}

/// Parses the call: the capability request and the response mode.
fn parse_call(
    arguments: &Map<String, Value>,
) -> Result<(CapabilityRequest, ResponseMode), CallArgumentError> {
    let Some(Value::String(id)) = arguments.get("capability") else {
        return Err(CallArgumentError::Capability);
    };
    let id =
        CapabilityId::parse(id).map_err(|_| CallArgumentError::CapabilityId { id: excerpt(id) })?;
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
        Some(Value::String(text)) if text.len() <= MAX_JUSTIFICATION_BYTES => {
            Ok((request.justified(text.clone(), JustificationSource::Model), mode))
        }
        Some(_) => Err(CallArgumentError::Justification {
            key: "justification",
            limit: MAX_JUSTIFICATION_BYTES,
        }),
    }
}

/// Refuses a malformed call, and records it under the id that it names.
async fn reject_malformed(
    client: &Client,
    arguments: &Map<String, Value>,
    problem: String,
) -> Result<Reply, ServeError> {
    let name = arguments.get("capability").and_then(Value::as_str).unwrap_or_default();
    let Ok(id) = CapabilityId::parse(name).or_else(|_| CapabilityId::parse("unknown")) else {
        return Ok(Reply::usage_error(problem));
    };
    let reason = ReasonCode::InvalidArguments;
    let denial = CheckResult::new(CheckKind::Justification, Verdict::Ask, reason, problem)
        .with_remedy(Remedy::Arguments);
    let invocation = client.reject(&CapabilityRequest::new(id, ""), denial).await?;
    Ok(render::reply_to_invocation(client, &CallOutcome::without_wait(invocation)))
}

async fn view_result(
    client: &Client,
    mut arguments: Map<String, Value>,
) -> Result<Reply, ServeError> {
    let Some(Value::String(id)) = arguments.remove("handle") else {
        return Ok(Reply::usage_error("`handle` must be a handle id from an earlier answer"));
    };
    let Ok(id) = HandleId::parse(&id) else {
        return Ok(Reply::usage_error(format!("`{}` is not a handle id", excerpt(&id))));
    };
    let query = match HandleQuery::parse(&Value::Object(arguments)) {
        Ok(query) => query,
        Err(error) => return Ok(Reply::usage_error(error.to_string())),
    };
    if query.limit.is_some_and(|limit| limit > MAX_ROWS) {
        return Ok(Reply::usage_error(format!(
            "`limit` is at most {MAX_ROWS}; page on with `offset`"
        )));
    }
    let run = client.run().await?;
    let principal = client.principal()?;
    let caller = Caller { run: &run, principal: &principal };
    // Results of other connected clients stay theirs. Results of a client that is gone can still be
    // read, because some clients start a process for each call.
    let other_runs = client.gateway.runs_of_present_clients().await?;
    // Access to a handle of an earlier process is decided by its tool, which may not be listed yet.
    let capability = client.gateway.kernel.handle_capability(caller, &id, &other_runs);
    let server = capability.and_then(|id| client.gateway.upstreams.for_capability(id.as_str()));
    if let Some(server) = server {
        server.start_now(CALL_START_WAIT).await;
    }
    let invocation = client.gateway.kernel.expand_isolated(caller, &id, &query, &other_runs).await;
    Ok(render::reply_to_invocation(client, &CallOutcome::without_wait(invocation)))
}
