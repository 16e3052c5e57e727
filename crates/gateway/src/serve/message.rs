//! JSON-RPC messages from the client: classified strictly, answered exactly once.

use serde_json::{Map, Value, json};
use weaver_types::canonical::{self, Profile};

/// JSON-RPC error codes.
pub(crate) mod code {
    pub(crate) const PARSE: i64 = -32700;
    pub(crate) const INVALID_REQUEST: i64 = -32600;
    pub(crate) const NOT_FOUND: i64 = -32601;
    pub(crate) const INVALID_PARAMS: i64 = -32602;
    pub(crate) const INTERNAL: i64 = -32603;
    /// A resource is not there (legacy era; the modern one says that parameters are invalid).
    pub(crate) const RESOURCE_NOT_FOUND: i64 = -32002;
    /// The policy refuses, or the call failed: `data` has the verdict, the reason and the words. The
    /// number is one of those that the protocol leaves to implementations.
    pub(crate) const REFUSED: i64 = -32010;
    /// The client lacks a capability that the request needs (2026-07-28).
    pub(crate) const MISSING_CAPABILITY: i64 = -32021;
    /// The protocol version of the request is not spoken here (2026-07-28).
    pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// A request of a client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Map<String, Value>,
    /// Set when the line is JSON but not acceptable as it stands (a duplicate key, an integer
    /// beyond 64 bits): a tool call is then refused by name instead of failing without a trace.
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
    /// An answer to a request of ours.
    Response {
        id: Value,
        answer: Result<Value, weaver_drivers::mcp::RpcError>,
    },
    /// Not acceptable; the error goes back under this id.
    Malformed {
        id: Value,
        error: RpcError,
    },
}

/// Classifies a line.
pub(crate) fn read(line: &[u8]) -> ClientMessage {
    let (value, argument_problem) = match canonical::parse(line, Profile::Foreign) {
        Ok(value) => (value, None),
        Err(error) => match serde_json::from_slice::<Value>(line) {
            Ok(value) => (value, Some(error.to_string())),
            Err(_) => {
                return malformed(
                    Value::Null,
                    code::PARSE,
                    format!("the line is no JSON: {error}"),
                );
            }
        },
    };
    let Value::Object(mut message) = value else {
        return malformed(
            Value::Null,
            code::INVALID_REQUEST,
            "a message is one JSON object; batches are not taken",
        );
    };
    let id = message.remove("id");
    let known = id.clone().filter(|id| id.is_string() || id.is_i64() || id.is_u64());
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return malformed(
            known.unwrap_or_default(),
            code::INVALID_REQUEST,
            "`jsonrpc` must be \"2.0\"",
        );
    }
    let params = match message.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            return malformed(
                known.unwrap_or_default(),
                code::INVALID_PARAMS,
                "`params` must be an object",
            );
        }
    };
    match (message.remove("method"), id, known) {
        (Some(Value::String(method)), Some(_), Some(id)) => {
            ClientMessage::Request(Request { id, method, params, argument_problem })
        }
        (Some(Value::String(method)), None, _) => ClientMessage::Notification { method, params },
        (None, Some(id), _) if message.contains_key("result") || message.contains_key("error") => {
            ClientMessage::Response { id, answer: response(message) }
        }
        (_, _, id) => malformed(
            id.unwrap_or_default(),
            code::INVALID_REQUEST,
            "a request has a `method` and an `id` that is a string or an integer",
        ),
    }
}

impl ClientMessage {
    /// The answer to a line that is no request; `None` for a request.
    pub(crate) fn refusal(line: &[u8]) -> Option<Vec<u8>> {
        match read(line) {
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
        Err(error) => {
            let mut body = json!({ "code": error.code, "message": error.message });
            if let (Some(data), Some(body)) = (error.data, body.as_object_mut()) {
                body.insert("data".to_owned(), data);
            }
            json!({ "jsonrpc": "2.0", "id": id, "error": body })
        }
    };
    line(&message)
}

/// What the client answered to a request of ours.
fn response(mut message: Map<String, Value>) -> Result<Value, weaver_drivers::mcp::RpcError> {
    use weaver_drivers::mcp::RpcError;
    match (message.remove("result"), message.remove("error")) {
        (Some(result), None) => Ok(result),
        (_, error) => {
            let error = error.unwrap_or_default();
            let code = error.get("code").and_then(Value::as_i64).unwrap_or(code::INTERNAL);
            let said = error.get("message").and_then(Value::as_str).unwrap_or_default();
            Err(RpcError::new(code, said))
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

/// A text of somebody else as a message repeats it: escaped and cut.
pub(crate) fn shown(text: &str) -> String {
    weaver_text::escape::line(weaver_text::escape::truncate(text, 80)).into_owned()
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
        let ClientMessage::Request(request) = read(line) else { panic!("no request") };
        assert_eq!(request.id, json!(7));
        assert!(
            request
                .argument_problem
                .is_some_and(|argument_problem| argument_problem.contains("duplicate"))
        );
    }

    #[test]
    fn what_cannot_be_answered_by_id_is_answered_without() {
        for line in [&b"not json"[..], b"[]", b"{}", br#"{"jsonrpc":"2.0","id":{},"method":"x"}"#] {
            assert!(
                matches!(read(line), ClientMessage::Malformed { id: Value::Null, .. }),
                "{line:?}"
            );
        }
    }

    #[test]
    fn null_is_no_id() {
        let line = br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#;
        assert!(matches!(read(line), ClientMessage::Malformed { .. }));
    }
}
