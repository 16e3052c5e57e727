//! Proxy mode: every visible tool under a name of its own, called directly.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use weaver_drivers::mcp::ParameterHeaders;
use weaver_types::{
    CapabilityId, CapabilityRequest, Check, Contribution, Effects, Impact, JustificationSource,
    ReasonCode, ResponseMode, Verdict, World,
};

use super::call::{self, CallOptions, CallRequest};
use super::client::Client;
use super::list_page::{self, UnknownCursor};
use super::listed_definition::TaskSupport;
use super::message::{RpcError, code, shown};
use super::render::{self, Reply};
use super::{
    definitions, justification, meta_tools, near_name, output_schema, sanitised_description,
};
use crate::config::Mode;

/// The note on a tool whose output schema cannot admit masks.
const NO_SCHEMA: &str = " (Its output schema is not shown: a masked result may not fit it.)";
/// How many tools are listed at once. Not every client asks for the next page, and none can use more.
const PAGE: usize = 500;
/// How long the first connection attempts may last before a listing goes out without their tools:
/// many clients list once, and give a server about 30 s. What comes later is told as a change.
const PATIENCE: Duration = Duration::from_secs(25);

/// A page of the tools on offer, sorted by name: with their titles, their hints, and an output schema
/// that a masked result fits, all without hidden characters. The tool of ours is on the first page.
pub(crate) async fn list(
    client: &Client,
    cursor: Option<&str>,
) -> Result<(Vec<Value>, Option<String>), UnknownCursor> {
    client.gateway.upstreams.fresh(PATIENCE).await;
    let snapshot = client.gateway.tool_snapshot();
    let is_listed = |id: &CapabilityId| client.offered(id) && snapshot.tools.contains_key(id);
    let page = list_page::page(&snapshot.names, cursor, PAGE, is_listed)?;
    let of_servers = page.items.iter().filter_map(|(name, id)| {
        Some((*name, tool(client, name, id, &snapshot.tools.get(*id)?.to_value())))
    });
    let own = cursor.is_none().then(|| (definitions::VIEW, definitions::view_definition()));
    let mut tools: Vec<(&str, Value)> = of_servers.chain(own).collect();
    tools.sort_by_key(|(name, _)| *name);
    Ok((tools.into_iter().map(|(_, tool)| tool).collect(), page.next))
}

fn tool(client: &Client, name: &str, id: &CapabilityId, listed: &Value) -> Value {
    let description = listed.get("description").and_then(Value::as_str).unwrap_or_default();
    let schema = listed.get("inputSchema").filter(|schema| schema.is_object());
    let firewall = client.gateway.kernel.firewall();
    let mut input = schema.map_or_else(
        || json!({ "type": "object" }),
        |schema| sanitised_description::schema(firewall, schema),
    );
    if justification::is_added(&input) {
        justification::add(&mut input);
    }
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
        match output_schema::loosened(&sanitised_description::schema(firewall, schema)) {
            Some(schema) => {
                fields.insert("outputSchema".to_owned(), schema);
            }
            None => {
                let said = sanitised_description::text(firewall, description);
                fields.insert("description".to_owned(), json!(format!("{said}{NO_SCHEMA}")));
            }
        }
    }
    tool
}

/// The hints of a tool. Those that MCP defines say what the signed contract says, so that a client
/// whose own permissions go by them is not led by the server; what no contract names may do anything.
/// Of others the server's own are passed on where they are yes or no.
fn hints(
    client: &Client,
    id: &CapabilityId,
    said: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let is_hint = |(key, value): &(&String, &Value)| key.ends_with("Hint") && value.is_boolean();
    let others = said.into_iter().flatten().filter(is_hint);
    let mut hints: Map<String, Value> =
        others.map(|(key, value)| (key.clone(), value.clone())).collect();
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
    if name == definitions::VIEW {
        return meta_tools::call(client, name, arguments, options).await;
    }
    let Some(id) = find(client, name).await else { return unknown(client, name).await };
    let (added, mode) = (is_justification_added(client, &id), ResponseMode::Auto);
    let has_output_schema = has_output_schema(client, &id);
    let mut request = CapabilityRequest::new(id, "");
    if let Some(arguments) = arguments.as_object_mut().filter(|_| added) {
        match justification::take(arguments) {
            Ok(Some(text)) => request = request.justified(text, JustificationSource::Model),
            Ok(None) => {}
            Err(error) => {
                options.argument_problem.get_or_insert_with(|| error.to_string());
            }
        }
    }
    let called =
        call::run(client, CallRequest { request, arguments: &arguments, mode, options }).await;
    let mut reply =
        called.map_or_else(meta_tools::failed, |called| render::invocation(client, &called, None));
    if added {
        name_justification(&mut reply);
    }
    if has_output_schema && reply.is_error {
        reply.keep_body_in_text();
    }
    Ok(reply)
}

/// Names the argument in a refusal that a justification would repair.
fn name_justification(reply: &mut Reply) {
    let repairs = |said: &Value| {
        let discharge = said.get("discharged_by");
        discharge.is_some_and(|discharge| discharge.get("justification").is_some())
            && said.get("verdict").is_some_and(|verdict| verdict == "ask")
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

/// True where its server lists a tool as one that can be called as a task.
pub(crate) fn is_listed_as_task(client: &Client, name: &str) -> bool {
    let snapshot = client.gateway.tool_snapshot();
    let id = snapshot.names.get(name).filter(|id| client.offered(id));
    let listed = id.and_then(|id| snapshot.tools.get(id));
    listed.is_some_and(|tool| tool.task_support != TaskSupport::Forbidden)
}

/// The headers that repeat arguments of a tool, where its listed schema names some.
pub(crate) async fn parameter_headers(
    client: &Client,
    name: &str,
) -> Option<Arc<ParameterHeaders>> {
    if client.profile.mode != Mode::Proxy || name == definitions::VIEW {
        return None;
    }
    // Its server may still start, and would be called without a look at the headers.
    let id = find(client, name).await?;
    client.gateway.tool_snapshot().tools.get(&id)?.parameter_headers.clone()
}

/// True when the tool is listed with a schema of its results. Clients compare whatever structured
/// content they get with it, that of a refusal too, and lose what does not fit.
fn has_output_schema(client: &Client, id: &CapabilityId) -> bool {
    let snapshot = client.gateway.tool_snapshot();
    snapshot.tools.get(id).is_some_and(|tool| tool.has_output_schema)
}

/// True when the tool is listed with the argument for a justification. A tool whose server is away
/// counts as one: nothing is called there.
fn is_justification_added(client: &Client, id: &CapabilityId) -> bool {
    let snapshot = client.gateway.tool_snapshot();
    snapshot.tools.get(id).is_none_or(|tool| tool.takes_justification)
}

/// The tool of a name: one that the principal may know of, or one whose server is away.
pub(super) async fn find(client: &Client, name: &str) -> Option<CapabilityId> {
    let known =
        || client.gateway.tool_snapshot().names.get(name).filter(|id| client.visible(id)).cloned();
    if let Some(id) = known() {
        return Some(id);
    }
    client.gateway.upstreams.fresh(PATIENCE).await;
    known().or_else(|| guess(client, name))
}

/// The tool that a plain name means, where its server is away and has listed nothing.
fn guess(client: &Client, name: &str) -> Option<CapabilityId> {
    let id = match client.gateway.upstreams.only() {
        Some(only) if client.gateway.config.unprefixed => format!("{}.{name}", only.name),
        _ => name.split_once("__").map(|(upstream, tool)| format!("{upstream}.{tool}"))?,
    };
    let id = CapabilityId::parse(id).ok()?;
    client.gateway.upstreams.of(id.as_str())?.missing()?;
    Some(id)
}

/// Unknown and hidden tools are recorded and answered alike.
async fn unknown(client: &Client, name: &str) -> Result<Reply, RpcError> {
    if let Ok(id) = CapabilityId::parse(name).or_else(|_| CapabilityId::parse("unknown")) {
        let (request, reason) = (CapabilityRequest::new(id, ""), ReasonCode::NotFound);
        let said = Contribution::new(Check::System, Verdict::Deny, reason, "no tool of that name");
        if let Err(error) = client.reject(&request, said).await {
            return Ok(meta_tools::failed(error));
        }
    }
    let near = near_name::listed_hint(client, name);
    let mut problem = format!("no tool `{}` here. {near}", shown(name));
    let missing = client.gateway.upstreams.missing();
    let away: Vec<&str> = missing.iter().map(|missing| missing.server.as_str()).collect();
    if !away.is_empty() {
        problem.push_str(&format!(" (away: {})", away.join(", ")));
    }
    Err(RpcError::new(code::INVALID_PARAMS, problem))
}
