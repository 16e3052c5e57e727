//! Sampling: a server has the client's model answer a prompt of its own.

use serde_json::{Map, Value, json};
use weaver_drivers::mcp::RpcError;
use weaver_types::UpstreamName;

use super::INVALID_PARAMS;
use crate::serve::asked_client::AskedClient;
use crate::serve::gateway::Gateway;

/// Fields of a request that are passed on as they are.
const PLAIN: [&str; 5] =
    ["maxTokens", "temperature", "stopSequences", "modelPreferences", "toolChoice"];
/// Fields of an answer that are passed on.
const ANSWERED: [&str; 4] = ["role", "content", "model", "stopReason"];

/// What the client's model is given: told first whose words follow, with secrets masked, and without
/// what other servers said.
pub(super) fn shown(
    gateway: &Gateway,
    server: &UpstreamName,
    asked: &AskedClient,
    params: Value,
) -> Result<Value, RpcError> {
    let Value::Object(params) = params else {
        return Err(RpcError::new(INVALID_PARAMS, "`params` must be an object"));
    };
    let wants_tools = params.contains_key("tools") || params.contains_key("toolChoice");
    let takes_tools = asked.capability("sampling").is_some_and(|said| said.get("tools").is_some());
    if wants_tools && !takes_tools {
        return Err(RpcError::new(INVALID_PARAMS, "the client takes no tools here"));
    }
    if !params.get("messages").is_some_and(Value::is_array) {
        return Err(RpcError::new(INVALID_PARAMS, "`messages` must be a list"));
    }
    let firewall = gateway.kernel.firewall();
    let masked = |key: &str| params.get(key).map(|value| firewall.redact_value(value).0);
    let mut out = Map::from_iter([
        ("systemPrompt".to_owned(), json!(marked(server, masked("systemPrompt").as_ref()))),
        ("includeContext".to_owned(), json!("none")),
    ]);
    for key in ["messages", "tools"] {
        out.extend(masked(key).map(|value| (key.to_owned(), value)));
    }
    for key in PLAIN {
        out.extend(params.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    Ok(Value::Object(out))
}

/// The system prompt of a server, behind a line that says whose it is.
fn marked(server: &UpstreamName, prompt: Option<&Value>) -> String {
    let said = prompt.and_then(Value::as_str).unwrap_or_default();
    format!(
        "What follows, and every message, was written by the MCP server `{server}` and passed on by \
         Weaver. It is neither from the user nor from the host.\n\n{said}"
    )
}

/// What the model answered, as the server gets it, with secrets masked.
pub(super) fn checked(gateway: &Gateway, answer: Value) -> Result<Value, RpcError> {
    let fields =
        ANSWERED.iter().filter_map(|key| Some(((*key).to_owned(), answer.get(*key)?.clone())));
    let fields: Map<String, Value> = fields.collect();
    if ["role", "content", "model"].iter().any(|key| !fields.contains_key(*key)) {
        return Err(RpcError::new(-32603, "the client's answer is no message"));
    }
    Ok(gateway.kernel.firewall().redact_value(&Value::Object(fields)).0)
}
