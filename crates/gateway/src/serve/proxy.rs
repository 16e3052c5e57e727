//! Proxy mode: every visible tool under a name of its own, called directly.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_types::{
    CapabilityId, CapabilityRequest, Check, Contribution, ReasonCode, ResponseMode, Verdict,
};

use super::call::{self, Asked, Manner};
use super::dispatch::shown;
use super::gateway::Gateway;
use super::message::{RpcError, code};
use super::render::{self, Reply};
use super::{definitions, described, meta_tools};

/// The name under which a proxy's client looks further into stored results.
pub(crate) const VIEW: &str = "tool_view";
/// How long a listing waits for the first connection attempts: many clients list once.
const PATIENCE: Duration = Duration::from_secs(20);

/// All tools on offer, sorted by name. Only what calling one needs is passed on, without hidden
/// characters: a server's icons, annotations and metadata are proposals, and its output schema
/// does not fit a frame.
pub(crate) async fn list(gateway: &Arc<Gateway>) -> Vec<Value> {
    gateway.upstreams.fresh(gateway, PATIENCE).await;
    let shelf = gateway.shelf();
    let own = (VIEW.to_owned(), definitions::view_definition());
    let mut tools: Vec<(String, Value)> = shelf
        .names
        .iter()
        .filter(|(_, id)| gateway.offered(id))
        .filter_map(|(name, id)| {
            Some((name.clone(), tool(gateway, name, id, shelf.tools.get(id)?)))
        })
        .chain([own])
        .collect();
    tools.sort_by(|(one, _), (other, _)| one.cmp(other));
    tools.into_iter().map(|(_, tool)| tool).collect()
}

fn tool(gateway: &Gateway, name: &str, id: &CapabilityId, listed: &Value) -> Value {
    let description = listed.get("description").and_then(Value::as_str).unwrap_or_default();
    let schema = listed.get("inputSchema").filter(|schema| schema.is_object());
    let firewall = gateway.kernel.firewall();
    json!({
        "name": name,
        "title": id,
        "description": described::words(firewall, description),
        "inputSchema": schema.map_or_else(|| json!({ "type": "object" }), |schema| described::schema(firewall, schema)),
    })
}

/// Calls a tool by the name it was listed under.
pub(crate) async fn call(
    gateway: &Arc<Gateway>,
    name: &str,
    arguments: Value,
    manner: Manner,
) -> Result<Reply, RpcError> {
    if name == VIEW {
        return meta_tools::call(gateway, name, arguments, manner).await;
    }
    let Some(id) = find(gateway, name).await else { return unknown(gateway, name).await };
    let (request, mode) = (CapabilityRequest::new(id, ""), ResponseMode::Summary);
    let called = call::run(gateway, Asked { request, arguments: &arguments, mode, manner }).await;
    Ok(called.map_or_else(meta_tools::failed, |called| render::invocation(gateway, &called)))
}

/// The tool of a name: one that the principal may know of, or one whose server is away.
async fn find(gateway: &Arc<Gateway>, name: &str) -> Option<CapabilityId> {
    let known = || gateway.shelf().names.get(name).filter(|id| gateway.visible(id)).cloned();
    if let Some(id) = known() {
        return Some(id);
    }
    gateway.upstreams.fresh(gateway, PATIENCE).await;
    known().or_else(|| guess(gateway, name))
}

/// The tool that a plain name means, where its server is away and has listed nothing.
fn guess(gateway: &Gateway, name: &str) -> Option<CapabilityId> {
    let id = match gateway.upstreams.only() {
        Some(only) if gateway.config.unprefixed => format!("{}.{name}", only.name),
        _ => name.split_once("__").map(|(upstream, tool)| format!("{upstream}.{tool}"))?,
    };
    let id = CapabilityId::parse(id).ok()?;
    gateway.upstreams.of(id.as_str())?.problem()?;
    Some(id)
}

/// What is unknown and what is hidden is recorded and answered alike.
async fn unknown(gateway: &Gateway, name: &str) -> Result<Reply, RpcError> {
    if let Ok(id) = CapabilityId::parse(name).or_else(|_| CapabilityId::parse("unknown")) {
        let (request, reason) = (CapabilityRequest::new(id, ""), ReasonCode::NotFound);
        let said = Contribution::new(Check::System, Verdict::Deny, reason, "no tool of that name");
        if let Err(error) = call::reject(gateway, &request, said).await {
            return Ok(meta_tools::failed(error));
        }
    }
    let mut problem = format!("no tool `{}` here; list the tools again", shown(name));
    let away: Vec<String> = gateway.upstreams.away().into_iter().map(|(name, _)| name).collect();
    if !away.is_empty() {
        problem.push_str(&format!(" (away: {})", away.join(", ")));
    }
    Err(RpcError::new(code::INVALID_PARAMS, problem))
}
