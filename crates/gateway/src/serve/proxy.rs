//! Proxy mode: every visible tool under a name of its own, called directly.

use serde_json::{Value, json};
use weaver_types::{CapabilityId, CapabilityRequest, ResponseMode};

use super::dispatch::shown;
use super::gateway::Gateway;
use super::message::{RpcError, code};
use super::meta_tools;
use super::render::{self, Reply};

/// The name under which a proxy's client looks further into stored results.
const VIEW: &str = "tool_view";

/// All visible tools, sorted by name. Only what calling one needs is passed on: a server's icons,
/// annotations and metadata are proposals, and its output schema does not fit a frame.
pub(crate) async fn list(gateway: &Gateway) -> Vec<Value> {
    gateway.upstreams.fresh(gateway).await;
    let shelf = gateway.shelf();
    let mut tools: Vec<Value> = shelf
        .names
        .iter()
        .filter(|(_, id)| gateway.visible(id))
        .filter_map(|(name, id)| Some(tool(name, id, shelf.tools.get(id)?)))
        .collect();
    tools.extend(
        meta_tools::definitions().into_iter().filter(|tool| tool.get("name") == Some(&json!(VIEW))),
    );
    tools
}

fn tool(name: &str, id: &CapabilityId, listed: &Value) -> Value {
    let mut tool = json!({ "name": name, "title": id });
    if let Some(fields) = tool.as_object_mut() {
        for key in ["description", "inputSchema"] {
            if let Some(value) = listed.get(key) {
                fields.insert(key.to_owned(), value.clone());
            }
        }
        fields.entry("inputSchema").or_insert_with(|| json!({ "type": "object" }));
    }
    tool
}

/// Calls a tool by the name it was listed under.
pub(crate) async fn call(
    gateway: &Gateway,
    name: &str,
    arguments: Value,
    flaw: Option<String>,
) -> Result<Reply, RpcError> {
    let known = gateway.shelf().names.get(name).cloned();
    let id = match known {
        Some(id) => id,
        None if name == VIEW => return meta_tools::call(gateway, name, arguments, flaw).await,
        None => {
            gateway.upstreams.fresh(gateway).await;
            match gateway.shelf().names.get(name).cloned().or_else(|| guess(gateway, name)) {
                Some(id) => id,
                None => {
                    let problem = format!("no tool `{}` here; list the tools again", shown(name));
                    return Err(RpcError::new(code::INVALID_PARAMS, problem));
                }
            }
        }
    };
    let request = CapabilityRequest::new(id, "");
    let done = meta_tools::run(gateway, &request, &arguments, ResponseMode::Summary, flaw)
        .await
        .map_err(meta_tools::internal)?;
    Ok(render::invocation(&done))
}

/// The tool that a plain name means, where its server is away and has listed nothing.
fn guess(gateway: &Gateway, name: &str) -> Option<CapabilityId> {
    let (upstream, tool) = name.split_once("__")?;
    let id = CapabilityId::parse(format!("{upstream}.{tool}")).ok()?;
    gateway.upstreams.of(id.as_str())?.problem()?;
    Some(id)
}
