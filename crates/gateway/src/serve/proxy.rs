//! Proxy mode: every visible tool is listed under its exported name and called directly.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use weaver_drivers::mcp::ParameterHeaders;
use weaver_firewall::Firewall;
use weaver_types::{
    CapabilityId, CapabilityRequest, CheckKind, CheckResult, Effects, Impact, JustificationSource,
    ReasonCode, ResponseMode, Verdict, World,
};

use super::call::{self, CallOptions, CallRequest};
use super::client::Client;
use super::list_page::{self, UnknownCursor};
use super::listed_definition::TaskSupport;
use super::managed_server::{CALL_START_WAIT, ManagedServer};
use super::message::{RpcError, code, excerpt};
use super::render::{self, Reply};
use super::{
    justification, listed_schema, meta_tool_definitions, meta_tools, name_suggestion,
    output_schema, sanitised_description,
};
use crate::config::ToolListMode;

/// The note on a tool whose output schema cannot admit masks.
const NO_SCHEMA_NOTE: &str = " (Its output schema is not shown: a masked result may not fit it.)";
/// The page size of the tool list. It is large, because not every client asks for the next page,
/// and no model can use more.
const PAGE_SIZE: usize = 500;

/// A page of the offered tools, sorted by name, with titles, hints, and an output schema that
/// admits masks, all without hidden characters. Our own tool is on the first page.
pub(crate) async fn list(
    client: &Client,
    cursor: Option<&str>,
) -> Result<(Vec<Value>, Option<String>), UnknownCursor> {
    client.gateway.upstreams.refresh_tools().await;
    let snapshot = client.gateway.tool_snapshot();
    let is_listed =
        |id: &CapabilityId| client.is_offered(id) && snapshot.definitions.contains_key(id);
    let page = list_page::page(&snapshot.exported_names, cursor, PAGE_SIZE, is_listed)?;
    let firewall = client.firewall().await;
    let policy = client.gateway.kernel.policy();
    let asks_why = policy.policy().rules.iter().any(|rule| rule.require.justification.is_some());
    let server_tools = page.items.iter().filter_map(|(name, id)| {
        let listed = snapshot.definitions.get(*id)?.to_value();
        let mut tool = tool_definition(client, &firewall, name, id, &listed);
        if asks_why && let Some(input) = tool.get_mut("inputSchema") {
            justification::add_to_schema(input);
        }
        Some((*name, tool))
    });
    let own_tool = cursor
        .is_none()
        .then(|| (meta_tool_definitions::VIEW_TOOL, meta_tool_definitions::view_definition()));
    let mut tools: Vec<(&str, Value)> = server_tools.chain(own_tool).collect();
    tools.sort_by_key(|(name, _)| *name);
    Ok((tools.into_iter().map(|(_, tool)| tool).collect(), page.next))
}

fn tool_definition(
    client: &Client,
    firewall: &Firewall,
    name: &str,
    id: &CapabilityId,
    listed: &Value,
) -> Value {
    let description = listed.get("description").and_then(Value::as_str).unwrap_or_default();
    let schema = listed_schema::as_object(listed.get("inputSchema"));
    let input = sanitised_description::schema(firewall, &schema);
    let annotations = listed.get("annotations").and_then(Value::as_object);
    let title = listed.get("title").or_else(|| annotations?.get("title")).and_then(Value::as_str);
    let title =
        title.map_or_else(|| id.to_string(), |title| sanitised_description::text(firewall, title));
    let mut tool = json!({
        "name": name,
        "title": title,
        "description": sanitised_description::text(firewall, description),
        "inputSchema": input,
    });
    let Some(fields) = tool.as_object_mut() else { return tool };
    fields.insert("annotations".to_owned(), Value::Object(hints(client, id, annotations)));
    if let Some(schema) = listed.get("outputSchema") {
        match output_schema::allowing_masks(&sanitised_description::schema(firewall, schema)) {
            Some(schema) => {
                let schema = listed_schema::as_object(Some(&schema));
                fields.insert("outputSchema".to_owned(), schema);
            }
            None => {
                let sanitised = sanitised_description::text(firewall, description);
                fields.insert(
                    "description".to_owned(),
                    json!(format!("{sanitised}{NO_SCHEMA_NOTE}")),
                );
            }
        }
    }
    tool
}

/// The hints of a tool. Hints defined by MCP come from the signed contract, so that a server cannot
/// steer a client whose permissions depend on them; a tool without a contract may do anything.
/// Other boolean hints are passed on from the server.
fn hints(
    client: &Client,
    id: &CapabilityId,
    listed: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let is_hint = |(key, value): &(&String, &Value)| key.ends_with("Hint") && value.is_boolean();
    let other_hints = listed.into_iter().flatten().filter(is_hint);
    let mut hints: Map<String, Value> =
        other_hints.map(|(key, value)| (key.clone(), value.clone())).collect();
    let gateway = &client.gateway;
    let effective =
        gateway.registry.get(id).and_then(|entry| entry.effective(&gateway.kernel.policy()).ok());
    let (effects, is_idempotent) = effective.map_or((Effects::UNDECLARED, false), |capability| {
        (capability.spec().effects, capability.spec().idempotent)
    });
    let contract = [
        ("readOnlyHint", effects.impact == Impact::Read),
        ("destructiveHint", effects.impact == Impact::Destroy),
        ("idempotentHint", is_idempotent),
        ("openWorldHint", effects.world == World::Open),
    ];
    hints.extend(contract.map(|(name, value)| (name.to_owned(), value.into())));
    hints
}

/// Calls a tool by its exported name.
pub(crate) async fn call(
    client: &Client,
    name: &str,
    mut arguments: Value,
    mut options: CallOptions,
) -> Result<Reply, RpcError> {
    if name == meta_tool_definitions::VIEW_TOOL {
        return meta_tools::call(client, name, arguments, options).await;
    }
    let Some(id) = find_tool(client, name).await else { return reject_unknown(client, name).await };
    let (added, mode) = (is_justification_added(client, &id), ResponseMode::Auto);
    let (has_output_schema, admits_note) = output_schema_facts(client, &id);
    let mut request = CapabilityRequest::new(id, "");
    if let Some(arguments) = arguments.as_object_mut().filter(|_| added) {
        match justification::take_from(arguments) {
            Ok(Some(text)) => request = request.justified(text, JustificationSource::Model),
            Ok(None) => {}
            Err(error) => {
                options.argument_problem.get_or_insert_with(|| error.to_string());
            }
        }
    }
    let outcome =
        call::run(client, CallRequest { request, arguments: &arguments, mode, options }).await;
    let mut reply = outcome.map_or_else(meta_tools::internal_failure, |outcome| {
        render::reply_to_invocation(client, &outcome)
    });
    if added {
        mention_justification_argument(&mut reply);
    }
    if !admits_note {
        reply.keep_note_in_text();
    }
    if has_output_schema && reply.is_error {
        reply.move_body_to_meta();
    }
    Ok(reply)
}

/// Mentions the argument in a refusal that a justification would resolve.
fn mention_justification_argument(reply: &mut Reply) {
    let repairs = |obstacle: &Value| {
        let remedy = obstacle.get("discharged_by");
        remedy.is_some_and(|remedy| remedy.get("justification").is_some())
            && obstacle.get("verdict").is_some_and(|verdict| verdict == "ask")
    };
    if !reply.is_error || !reply.meta.is_empty() {
        return;
    }
    let body = reply.structured.as_ref();
    let obstacles = body.and_then(|body| body.get("obstacles")?.as_array());
    if obstacles.is_some_and(|all| all.iter().any(repairs)) {
        reply.add_to_message("Say why the call is needed in the argument `_justification`.");
    }
}

/// True where the server lists the tool as callable as a task.
pub(crate) fn is_listed_as_task(client: &Client, name: &str) -> bool {
    let snapshot = client.gateway.tool_snapshot();
    let id = snapshot.exported_names.get(name).filter(|id| client.is_offered(id));
    let listed = id.and_then(|id| snapshot.definitions.get(id));
    listed.is_some_and(|tool| tool.task_support != TaskSupport::Forbidden)
}

/// The headers that repeat arguments of a tool, if its listed schema names some.
pub(crate) async fn parameter_headers(
    client: &Client,
    name: &str,
) -> Option<Arc<ParameterHeaders>> {
    if client.profile.mode != ToolListMode::Proxy || name == meta_tool_definitions::VIEW_TOOL {
        return None;
    }
    // Waits for a server that is still starting; otherwise the call would skip the check of the
    // headers.
    let id = find_tool(client, name).await?;
    client.gateway.tool_snapshot().definitions.get(&id)?.parameter_headers.clone()
}

/// Whether the tool is listed with an output schema, and whether our own line may be in its
/// structured content. Clients validate all structured content, including that of a refusal, and
/// drop what does not conform.
fn output_schema_facts(client: &Client, id: &CapabilityId) -> (bool, bool) {
    let snapshot = client.gateway.tool_snapshot();
    let tool = snapshot.definitions.get(id);
    tool.map_or((false, true), |tool| (tool.has_output_schema, tool.admits_note))
}

/// True when the tool may be called with the justification argument. A tool of an unavailable server
/// counts as one, because no call reaches it anyway.
fn is_justification_added(client: &Client, id: &CapabilityId) -> bool {
    let snapshot = client.gateway.tool_snapshot();
    snapshot.definitions.get(id).is_none_or(|tool| tool.takes_justification)
}

/// The tool of an exported name: a visible one, or one whose server is unavailable.
pub(super) async fn find_tool(client: &Client, name: &str) -> Option<CapabilityId> {
    let lookup = || {
        client
            .gateway
            .tool_snapshot()
            .exported_names
            .get(name)
            .filter(|id| client.is_visible(id))
            .cloned()
    };
    if let Some(id) = lookup() {
        return Some(id);
    }
    // Only the server that the name speaks of is waited for.
    if let Some((_, server)) = guess_unlisted(client, name) {
        server.start_now(CALL_START_WAIT).await;
    }
    if let Some(id) = lookup() {
        return Some(id);
    }
    client.gateway.upstreams.refresh_tools().await;
    lookup().or_else(|| guess_unlisted(client, name).map(|(id, _)| id))
}

/// The tool that a plain name would mean if its unavailable server listed it, and that server. `None`
/// for a server that the client may not know of.
fn guess_unlisted(client: &Client, name: &str) -> Option<(CapabilityId, Arc<ManagedServer>)> {
    let id = match client.gateway.upstreams.only_server() {
        Some(upstream) if client.gateway.config.unprefixed => format!("{}.{name}", upstream.name),
        _ => name.split_once("__").map(|(upstream, tool)| format!("{upstream}.{tool}"))?,
    };
    let id = CapabilityId::parse(id).ok()?;
    let server = client.gateway.upstreams.for_capability(id.as_str())?;
    server.unavailability()?;
    client.may_see_server(&server.name).then_some((id, server))
}

/// Unknown and hidden tools are recorded and answered alike.
async fn reject_unknown(client: &Client, name: &str) -> Result<Reply, RpcError> {
    if let Ok(id) = CapabilityId::parse(name).or_else(|_| CapabilityId::parse("unknown")) {
        let (request, reason) = (CapabilityRequest::new(id, ""), ReasonCode::NotFound);
        let denial =
            CheckResult::new(CheckKind::System, Verdict::Deny, reason, "no tool of that name");
        if let Err(error) = client.reject(&request, denial).await {
            return Ok(meta_tools::internal_failure(error));
        }
    }
    let near = name_suggestion::exported_name_hint(client, name);
    let mut problem = format!("no tool `{}` here. {near}", excerpt(name));
    let missing = client.unavailable_servers().into_iter().map(|missing| missing.server);
    problem.push_str(&name_suggestion::unavailable_note(&missing.collect()));
    Err(RpcError::new(code::INVALID_PARAMS, problem))
}
