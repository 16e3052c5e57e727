//! Sampling: a server has the client's model answer a prompt of its own.

use serde_json::{Map, Value, json};
use weaver_drivers::mcp::RpcError;
use weaver_firewall::Firewall;
use weaver_types::UpstreamName;

use crate::serve::code;
use crate::serve::gateway::Gateway;
use crate::serve::target_client::TargetClient;

/// Request fields that are passed on besides the system prompt.
const PASSED_FIELDS: [&str; 7] = [
    "messages", "tools", "maxTokens", "temperature", "stopSequences", "modelPreferences",
    "toolChoice",
];
/// Answer fields that are passed on.
const ANSWER_FIELDS: [&str; 4] = ["role", "content", "model", "stopReason"];

/// The request as the client's model gets it: introduced by whose words follow, with secrets
/// masked, and without context from other servers.
pub(super) fn request_for_client(
    firewall: &Firewall,
    server: &UpstreamName,
    target: &TargetClient,
    params: Value,
) -> Result<Value, RpcError> {
    let Value::Object(params) = params else {
        return Err(RpcError::new(code::INVALID_PARAMS, "`params` must be an object"));
    };
    let wants_tools = params.contains_key("tools") || params.contains_key("toolChoice");
    let takes_tools =
        target.capability("sampling").is_some_and(|declared| declared.get("tools").is_some());
    if wants_tools && !takes_tools {
        return Err(RpcError::new(
            code::INVALID_PARAMS,
            "the client does not support tools in sampling",
        ));
    }
    if !params.get("messages").is_some_and(Value::is_array) {
        return Err(RpcError::new(code::INVALID_PARAMS, "`messages` must be a list"));
    }
    let masked = |key: &str| params.get(key).map(|value| firewall.redact_value(value).0);
    let mut out = Map::from_iter([
        ("systemPrompt".to_owned(), json!(attributed(server, masked("systemPrompt").as_ref()))),
        ("includeContext".to_owned(), json!("none")),
    ]);
    for key in PASSED_FIELDS {
        out.extend(masked(key).map(|value| (key.to_owned(), value)));
    }
    Ok(Value::Object(out))
}

/// The server's system prompt, after a line that attributes it.
fn attributed(server: &UpstreamName, prompt: Option<&Value>) -> String {
    let text = prompt.and_then(Value::as_str).unwrap_or_default();
    format!(
        "What follows, and every message, was written by the MCP server `{server}` and passed on by \
         Weaver. It is neither from the user nor from the host.\n\n{text}"
    )
}

/// The model's answer as the server gets it, with secrets masked.
pub(super) fn validated_answer(gateway: &Gateway, answer: Value) -> Result<Value, RpcError> {
    let fields =
        ANSWER_FIELDS.iter().filter_map(|key| Some(((*key).to_owned(), answer.get(*key)?.clone())));
    let fields: Map<String, Value> = fields.collect();
    if ["role", "content", "model"].iter().any(|key| !fields.contains_key(*key)) {
        return Err(RpcError::new(code::INTERNAL, "the client's answer is not a message"));
    }
    Ok(gateway.kernel.firewall().redact_value(&Value::Object(fields)).0)
}
