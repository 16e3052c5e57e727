//! JSON-RPC messages: strict classification of a client's lines, and the lines sent to it.

use serde::Deserialize;
use serde_json::{Map, Value, json};
pub(crate) use weaver_drivers::mcp::RpcError;
use weaver_types::canonical::{self, Profile};

/// JSON-RPC error codes.
pub(crate) mod code {
    pub(crate) use weaver_drivers::mcp::code::*;

    /// The policy refused the call, or it failed: `data` has the verdict, the reason and the
    /// message. The number is from the range that JSON-RPC leaves to implementations.
    pub(crate) const REFUSED: i64 = -32010;
}

/// What a call is told that the end of the gateway cut off.
const OUTCOME_UNKNOWN: &str = "outcome_unknown: the gateway ended while this call was under way. The \
                               call may have run. Look at its effect before you repeat it.";

/// The result of a tool call that may or may not have run.
pub(crate) fn outcome_unknown_result() -> Value {
    // As text only, because the schema of the tool's results is unknown here.
    json!({
        "content": [{ "type": "text", "text": outcome_unknown_body().to_string() }],
        "isError": true,
        "resultType": "complete",
        "_meta": { "weaver/verdict": "deny", "weaver/reason": "outcome_unknown" },
    })
}

/// The answer to a request of this method whose outcome is unknown, because the gateway ends first.
pub(crate) fn cut_off_outcome(method: &str) -> Result<Value, RpcError> {
    match method {
        "tools/call" => Ok(outcome_unknown_result()),
        _ => Err(outcome_unknown_error()),
    }
}

/// The error in place of such a result, where a request is answered with an error.
fn outcome_unknown_error() -> RpcError {
    let error = RpcError::new(code::REFUSED, OUTCOME_UNKNOWN);
    error.with_data(outcome_unknown_body())
}

/// Whether a result may contain what a server said. A refusal does not. Its verdict is in our own
/// body, unless that was moved to `_meta`; the result of a server always has it there.
pub(crate) fn is_of_server(result: &Value) -> bool {
    let own_body = || result.pointer("/structuredContent/verdict");
    let verdict = result.pointer("/_meta/weaver~1verdict").or_else(own_body);
    verdict.is_none_or(|verdict| verdict == "allow")
}

/// The answer in place of a result whose run has ended: shown in another run, it would not taint it.
/// The result is stored, and viewing it taints the run.
pub(crate) fn ended_run_error(result: &Value) -> RpcError {
    let handle = result.pointer("/_meta/weaver~1handle").and_then(Value::as_str);
    let next = handle.map(|handle| format!("; `tool_view {{\"handle\":\"{handle}\"}}` shows it"));
    let problem = format!(
        "the run of this call has ended, so its result is not shown as it is{}",
        next.unwrap_or_default()
    );
    RpcError::new(code::REFUSED, problem)
}

pub(super) fn outcome_unknown_body() -> Value {
    json!({ "verdict": "deny", "reason": "outcome_unknown", "message": OUTCOME_UNKNOWN })
}

/// The `_meta` key that names the stream of a notification.
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// A request of a client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Map<String, Value>,
    /// Set when the line is JSON but ambiguous (a duplicate key, an integer beyond 64 bits). A tool
    /// call is then refused by name, instead of failing without a record.
    pub(crate) argument_problem: Option<String>,
}

/// A classified line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ClientMessage {
    Request(Request),
    Notification {
        method: String,
        params: Map<String, Value>,
    },
    /// The client's answer to a request of ours.
    Response {
        id: Value,
        answer: Result<Value, RpcError>,
    },
    /// Not acceptable; the error is sent under this id.
    Malformed {
        id: Value,
        error: RpcError,
    },
}

/// The id of a request whose other members cannot be read as values: a number out of range, or half a surrogate pair. Its
/// sender waits for an answer under this id. Null where there is none.
fn unreadable_request_id(line: &[u8]) -> Value {
    /// Skips all other members, by their syntax alone.
    #[derive(Deserialize)]
    struct RequestHead {
        #[serde(default)]
        id: Value,
        #[serde(rename = "method")]
        _method: String,
    }
    let head = serde_json::from_slice::<RequestHead>(line);
    head.map(|head| head.id).ok().filter(is_id).unwrap_or_default()
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

/// Classifies a line.
pub(crate) fn parse(line: &[u8]) -> ClientMessage {
    let (value, argument_problem) = match canonical::parse(line, Profile::Foreign) {
        Ok(value) => (value, None),
        Err(error) => match serde_json::from_slice::<Value>(line) {
            Ok(value) => (value, Some(error.to_string())),
            Err(_) => {
                return malformed(
                    unreadable_request_id(line),
                    code::PARSE_ERROR,
                    format!("the line is not JSON: {error}"),
                );
            }
        },
    };
    let Value::Object(mut message) = value else {
        return malformed(
            Value::Null,
            code::INVALID_REQUEST,
            "a message is one JSON object; batches are not accepted",
        );
    };
    let id = message.remove("id");
    let valid_id = id.clone().filter(is_id);
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return malformed(
            valid_id.unwrap_or_default(),
            code::INVALID_REQUEST,
            "`jsonrpc` must be \"2.0\"",
        );
    }
    let params = match message.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            return malformed(
                valid_id.unwrap_or_default(),
                code::INVALID_PARAMS,
                "`params` must be an object",
            );
        }
    };
    match (message.remove("method"), id, valid_id) {
        (Some(Value::String(method)), Some(_), Some(id)) => {
            ClientMessage::Request(Request { id, method, params, argument_problem })
        }
        (Some(Value::String(method)), None, _) => ClientMessage::Notification { method, params },
        (None, Some(id), _) if message.contains_key("result") || message.contains_key("error") => {
            ClientMessage::Response { id, answer: parse_answer(message) }
        }
        (_, _, id) => malformed(
            id.unwrap_or_default(),
            code::INVALID_REQUEST,
            "a request has a `method` and an `id` that is a string or an integer",
        ),
    }
}

impl ClientMessage {
    /// Whether it is answered. What is not acceptable is answered with the reason.
    pub(crate) fn is_answered(&self) -> bool {
        matches!(self, Self::Request(_) | Self::Malformed { .. })
    }

    /// The error for a line that is no request; `None` for a request.
    pub(crate) fn non_request_refusal(line: &[u8]) -> Option<Vec<u8>> {
        match parse(line) {
            Self::Request(_) => None,
            Self::Malformed { id, error } => Some(answer(&id, Err(error))),
            Self::Notification { .. } | Self::Response { .. } => {
                let error = RpcError::new(code::INVALID_REQUEST, "a request needs an `id`");
                Some(answer(&Value::Null, Err(error)))
            }
        }
    }
}

fn malformed(id: Value, code: i64, message: impl Into<String>) -> ClientMessage {
    ClientMessage::Malformed { id, error: RpcError::new(code, message) }
}

/// The line that answers a request.
pub(crate) fn answer(id: &Value, outcome: Result<Value, RpcError>) -> Vec<u8> {
    let message = match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error.to_json() }),
    };
    line(&message)
}

/// The client capabilities that a modern request declares.
pub(crate) fn declared_capabilities(params: &Map<String, Value>) -> Map<String, Value> {
    let meta = params.get("_meta");
    let declared = meta.and_then(|meta| meta.get("io.modelcontextprotocol/clientCapabilities"));
    declared.and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The arguments of a tool as a model gives them. Models leave them out, write null, or write the
/// object as a text of JSON; all mean the same. A text that is anything else stays a text.
pub(crate) fn tool_arguments(given: Option<Value>) -> Value {
    match given {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(Value::String(text)) => match canonical::parse(text.as_bytes(), Profile::Foreign) {
            Ok(object @ Value::Object(_)) => object,
            _ => Value::String(text),
        },
        Some(given) => given,
    }
}

/// Parses the client's answer to a request of ours.
fn parse_answer(mut message: Map<String, Value>) -> Result<Value, RpcError> {
    match (message.remove("result"), message.remove("error")) {
        (Some(result), None) => Ok(result),
        (_, error) => {
            let error = error.unwrap_or_default();
            let code = error.get("code").and_then(Value::as_i64).unwrap_or(code::INTERNAL);
            let message_text = error.get("message").and_then(Value::as_str).unwrap_or_default();
            Err(RpcError::new(code, message_text))
        }
    }
}

/// The line of a request of ours.
pub(crate) fn request(id: &str, method: &str, params: Value) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// The line of a notification.
pub(crate) fn notification(method: &str) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "method": method }))
}

/// The line of a notification with parameters.
pub(crate) fn notification_with(method: &str, params: Value) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

/// An untrusted text as quoted in a message: escaped and shortened.
pub(crate) fn excerpt(text: &str) -> String {
    weaver_text::escape::excerpt(text, 80)
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_key_is_a_flaw_of_the_request_it_stands_in() {
        let line = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"x":2}}}"#;
        let ClientMessage::Request(request) = parse(line) else { panic!("no request") };
        assert_eq!(request.id, json!(7));
        assert!(
            request
                .argument_problem
                .is_some_and(|argument_problem| argument_problem.contains("duplicate"))
        );
    }

    #[test]
    fn values_that_cannot_be_read_leave_the_id_of_their_request() {
        let parsed = |params: &str, id: &str| {
            let line = format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{params},\"id\":{id}}}"
            );
            let ClientMessage::Malformed { id, error } = parse(line.as_bytes()) else {
                panic!("it was read: {line}")
            };
            assert_eq!(error.code, code::PARSE_ERROR);
            id
        };
        let unreadable = [r#"{"x":1e400}"#, r#"{"x":["\ud800"]}"#, r#"{"\udc00":-1E999}"#];
        for params in unreadable {
            assert_eq!(parsed(params, "7"), json!(7), "{params}");
            assert_eq!(parsed(params, "\"a\""), json!("a"), "{params}");
            assert_eq!(parsed(params, "[7]"), Value::Null, "{params}");
            assert_eq!(
                parsed(params, "7,\"id\":8"),
                Value::Null,
                "it is not clear whose answer it is"
            );
        }
        assert_eq!(parsed("{\"x\":1e400", "7"), Value::Null, "its end is missing");
    }

    #[test]
    fn what_cannot_be_answered_by_id_is_answered_without() {
        for line in [&b"not json"[..], b"[]", b"{}", br#"{"jsonrpc":"2.0","id":{},"method":"x"}"#] {
            assert!(
                matches!(parse(line), ClientMessage::Malformed { id: Value::Null, .. }),
                "{line:?}"
            );
        }
    }

    #[test]
    fn arguments_mean_the_same_in_each_form_that_models_write() {
        assert_eq!(tool_arguments(None), json!({}));
        assert_eq!(tool_arguments(Some(Value::Null)), json!({}));
        assert_eq!(tool_arguments(Some(json!("{\"a\": 1}"))), json!({ "a": 1 }));
        for text in ["[1]", "a", "{\"a\": 1, \"a\": 2}"] {
            assert_eq!(tool_arguments(Some(json!(text))), json!(text), "is refused as a text");
        }
    }

    #[test]
    fn a_refusal_says_nothing_of_a_server() {
        let moved = json!({ "_meta": { "weaver/verdict": "deny" } });
        let whole = json!({ "structuredContent": { "verdict": "hold" } });
        assert!(!is_of_server(&moved) && !is_of_server(&whole));
        let imitation = json!({ "structuredContent": { "verdict": "hold" },
            "_meta": { "weaver/verdict": "allow" } });
        assert!(is_of_server(&imitation) && is_of_server(&json!({})));
    }

    #[test]
    fn null_is_no_id() {
        let line = br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#;
        assert!(matches!(parse(line), ClientMessage::Malformed { .. }));
    }
}
