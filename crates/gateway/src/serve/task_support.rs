//! Which tools a client can call as tasks.

use serde_json::{Value, json};

use super::client::Client;
use super::execute_tool::ExecuteTool;
use super::listed_definition::TaskSupport;
use super::{definitions, proxy};
use crate::config::Mode;

/// Whether a client may call this tool as a task: in gateway mode what runs other tools, in proxy mode
/// what its server lists so, which is waited for as by any call. `None` where there is no such tool.
pub(super) async fn of(client: &Client, tool: &str) -> Option<bool> {
    match client.profile.mode {
        Mode::Proxy if tool != definitions::VIEW => {
            let id = proxy::find(client, tool).await?;
            let snapshot = client.gateway.tool_snapshot();
            // Of what is away or changed, the call says so, and it is recorded.
            let Some(listed) = snapshot.tools.get(&id).filter(|_| client.offered(&id)) else {
                return Some(true);
            };
            Some(listed.task_support != TaskSupport::Forbidden)
        }
        _ if is_supported(client, tool) => Some(true),
        _ => definitions::all(client.profile.execute_tools)
            .iter()
            .any(|known| known.get("name").is_some_and(|name| name == tool))
            .then_some(false),
    }
}

/// The same by what is listed now.
fn is_supported(client: &Client, tool: &str) -> bool {
    match client.profile.mode {
        Mode::Gateway => ExecuteTool::named(client.profile.execute_tools, tool).is_some(),
        Mode::Proxy => tool != definitions::VIEW && proxy::is_listed_as_task(client, tool),
    }
}

/// Says of each tool that can be called as a task that it can.
pub(super) fn name_support(client: &Client, tools: &mut [Value]) {
    for fields in tools.iter_mut().filter_map(Value::as_object_mut) {
        let name = fields.get("name").and_then(Value::as_str).unwrap_or_default();
        if is_supported(client, name) {
            fields.insert("execution".to_owned(), json!({ "taskSupport": "optional" }));
        }
    }
}
