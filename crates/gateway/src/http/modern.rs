//! The self-contained requests of 2026-07-28: the checks of their headers and `_meta`, and the HTTP
//! status of their errors.

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value, json};
use weaver_drivers::mcp::{MODERN_VERSION, decode_header_text};

use super::sessions::HttpSession;
use crate::serve::code;

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// True for a request that follows, or claims to follow, the revision with self-contained requests.
pub(super) fn is_modern(headers: &HeaderMap, message: &Value) -> bool {
    let named = meta(message, VERSION_KEY).is_some();
    named || headers.get("mcp-protocol-version").is_some_and(|version| version == MODERN_VERSION)
}

/// Refuses a request whose headers contradict its body, before anything else is done: a proxy that
/// routes by the headers and a server that answers by the body must see the same request.
pub(super) fn check_headers(headers: &HeaderMap, message: &Value) -> Result<(), Box<Response>> {
    let refused = |code: i64, problem: &str| Err(refusal_response(message, code, problem, None));
    if message.get("method").is_none() {
        return Ok(());
    }
    let Some(version) = meta(message, VERSION_KEY).and_then(Value::as_str) else {
        return refused(code::INVALID_PARAMS, "`_meta` names no protocol version");
    };
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    if header("mcp-protocol-version") != Some(version) {
        let problem = "the header `MCP-Protocol-Version` does not say what the body says";
        return refused(code::HEADER_MISMATCH, problem);
    }
    if version != MODERN_VERSION {
        let data = json!({ "requested": version, "supported": [MODERN_VERSION] });
        let problem = "this protocol version is not supported";
        return Err(refusal_response(message, code::UNSUPPORTED_VERSION, problem, Some(data)));
    }
    if message.get("id").is_some() && !meta(message, CAPABILITIES_KEY).is_some_and(Value::is_object)
    {
        return refused(code::INVALID_PARAMS, "`_meta` has no capabilities of the client");
    }
    let method_name = text(message, "/method");
    let method = header("mcp-method").is_some_and(|method| Some(method) == method_name);
    let named = method_name.and_then(|method_name| match method_name {
        "tools/call" | "prompts/get" => text(message, "/params/name"),
        "resources/read" => text(message, "/params/uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => text(message, "/params/taskId"),
        _ => None,
    });
    let name = match (headers.get("mcp-name").map(decode_header_text), named) {
        (Some(Some(name)), Some(named)) => name == named,
        // It does not contradict the body.
        (Some(Some(_)) | None, None) => true,
        (Some(None), _) | (None, Some(_)) => false,
    };
    match method && name {
        true => Ok(()),
        false => refused(code::HEADER_MISMATCH, "the headers name another request than the body"),
    }
}

/// Refuses a tool call whose arguments differ from the headers that repeat them.
pub(super) async fn check_parameters(
    headers: &HeaderMap,
    message: &Value,
    session: &HttpSession,
) -> Result<(), Box<Response>> {
    if text(message, "/method") != Some("tools/call") {
        return Ok(());
    }
    let Some(tool) = text(message, "/params/name") else { return Ok(()) };
    let Some(known) = session.messages.parameter_headers(tool).await else { return Ok(()) };
    let none = Map::new();
    let arguments = message.pointer("/params/arguments").and_then(Value::as_object);
    match known.first_mismatch(headers, arguments.unwrap_or(&none)) {
        None => Ok(()),
        Some(header) => {
            let problem = format!("the header `{header}` does not say what its argument says");
            Err(refusal_response(message, code::HEADER_MISMATCH, &problem, None))
        }
    }
}

/// The HTTP status for an answer.
pub(super) fn response_status(answer: &[u8]) -> StatusCode {
    #[derive(serde::Deserialize)]
    struct Answer {
        error: Option<Code>,
    }
    #[derive(serde::Deserialize)]
    struct Code {
        code: i64,
    }
    let answer: Option<Answer> = serde_json::from_slice(answer).ok();
    match answer.and_then(|answer| answer.error).map(|error| error.code) {
        Some(code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_VERSION) => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}

fn meta<'m>(message: &'m Value, key: &str) -> Option<&'m Value> {
    message.get("params")?.get("_meta")?.get(key)
}

fn text<'m>(message: &'m Value, at: &str) -> Option<&'m str> {
    message.pointer(at)?.as_str()
}

fn refusal_response(
    message: &Value,
    code: i64,
    problem: &str,
    data: Option<Value>,
) -> Box<Response> {
    let id = message.get("id").filter(|id| id.is_string() || id.is_number());
    let mut error = json!({ "code": code, "message": problem });
    if let (Some(data), Some(fields)) = (data, error.as_object_mut()) {
        fields.insert("data".to_owned(), data);
    }
    let body = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    let headers = [("content-type", "application/json")];
    Box::new((StatusCode::BAD_REQUEST, headers, body.to_string()).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(headers: &[(&'static str, &'static str)], body: &Value) -> u16 {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        assert!(is_modern(&headers, body));
        check_headers(&headers, body).err().map_or(200, |response| response.status().as_u16())
    }

    fn call() -> Value {
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "größe",
            "_meta": { VERSION_KEY: MODERN_VERSION, CAPABILITIES_KEY: {} }}})
    }

    #[test]
    fn header_and_body_must_mean_one_request() {
        let version = ("mcp-protocol-version", MODERN_VERSION);
        let named = ("mcp-name", "=?base64?Z3LDtsOfZQ==?=");
        let method = ("mcp-method", "tools/call");
        assert_eq!(checked(&[version, method, named], &call()), 200);
        for headers in [
            &[][..],
            &[("mcp-protocol-version", "2025-11-25")],
            &[version, method],
            &[version, named],
            &[version, ("mcp-method", "tools/list"), named],
            &[version, method, ("mcp-name", "other")],
            &[version, method, ("mcp-name", "=?base64?!?=")],
        ] {
            assert_eq!(checked(headers, &call()), 400, "{headers:?}");
        }
        for key in [VERSION_KEY, CAPABILITIES_KEY] {
            let mut less = call();
            less["params"]["_meta"].as_object_mut().unwrap().remove(key);
            assert_eq!(checked(&[version, method, named], &less), 400, "{key}");
        }
        let mut other = call();
        other["params"]["_meta"][VERSION_KEY] = json!("2099-01-01");
        assert_eq!(checked(&[("mcp-protocol-version", "2099-01-01")], &other), 400);
    }

    #[test]
    fn an_error_of_the_protocol_has_a_status_of_its_own() {
        let of =
            |code: i64| response_status(json!({"error": {"code": code}}).to_string().as_bytes());
        assert_eq!((of(-32601), of(-32021)), (StatusCode::NOT_FOUND, StatusCode::BAD_REQUEST));
        assert_eq!((of(-32602), of(-32010)), (StatusCode::OK, StatusCode::OK));
        assert_eq!(response_status(b"{\"result\":{}}"), StatusCode::OK);
    }
}
