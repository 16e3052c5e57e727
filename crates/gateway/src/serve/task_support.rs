//! Determines which tools a client can call as tasks.

use serde_json::{Value, json};

use super::client::Client;
use super::execute_tool::ExecuteTool;
use super::listed_definition::TaskSupport;
use super::{meta_tool_definitions, proxy};
use crate::config::ToolListMode;

/// Whether a client may call this tool as a task: in gateway mode the execute tools, in proxy mode
/// the tools that their servers list as such. `None` where there is no such tool.
pub(super) async fn supports_task(client: &Client, tool: &str) -> Option<bool> {
    match client.profile.mode {
        ToolListMode::Proxy if tool != meta_tool_definitions::VIEW_TOOL => {
            let id = proxy::find_tool(client, tool).await?;
            let snapshot = client.gateway.tool_snapshot();
            // An unavailable or changed tool is refused by the call itself, which records it.
            let Some(listed) = snapshot.definitions.get(&id).filter(|_| client.is_offered(&id))
            else {
                return Some(true);
            };
            Some(listed.task_support != TaskSupport::Forbidden)
        }
        _ if is_supported(client, tool) => Some(true),
        _ => meta_tool_definitions::all(client.profile.execute_tools)
            .iter()
            .any(|definition| definition.get("name").is_some_and(|name| name == tool))
            .then_some(false),
    }
}

/// Whether a tool is currently listed as callable as a task.
fn is_supported(client: &Client, tool: &str) -> bool {
    match client.profile.mode {
        ToolListMode::Gateway => ExecuteTool::by_name(client.profile.execute_tools, tool).is_some(),
        ToolListMode::Proxy => {
            tool != meta_tool_definitions::VIEW_TOOL && proxy::is_listed_as_task(client, tool)
        }
    }
}

/// Adds `taskSupport` to each tool that can be called as a task.
pub(super) fn add_task_support(client: &Client, tools: &mut [Value]) {
    for fields in tools.iter_mut().filter_map(Value::as_object_mut) {
        let name = fields.get("name").and_then(Value::as_str).unwrap_or_default();
        if is_supported(client, name) {
            fields.insert("execution".to_owned(), json!({ "taskSupport": "optional" }));
        }
    }
}
