//! Which tools a client can call as tasks.

use serde_json::{Value, json};

use super::client::Client;
use super::execute_tool::ExecuteTool;
use super::{definitions, proxy};
use crate::config::Mode;

/// Whether a client may call this tool as a task: in gateway mode what runs other tools, in proxy mode
/// what its server lists so.
pub(super) fn is_supported(client: &Client, tool: &str) -> bool {
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
