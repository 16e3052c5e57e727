//! The demo's MCP server: notes, tickets and an outbox in one folder, over stdio.
//!
//! It implements both eras of MCP as a real server does, but little else: it reads a line, answers
//! it, and goes on until its input ends.

mod error;
mod store;
mod tool;

use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use serde_json::{Map, Value, json};
use weaver_drivers::mcp::{LEGACY_VERSION, LEGACY_VERSIONS, MODERN_VERSION, code};
use weaver_types::Digest;

use super::DemoError;
use store::DemoFolder;
use weaver_gateway::serve::upstream_digest;

/// The longest message, in bytes.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

/// Serves the folder `root` over standard input and output, until the input ends.
///
/// Nothing outside `root` is read or written: an argument is a name of a note, never a path.
///
/// # Errors
///
/// [`DemoError::Root`] if `root` is not a folder of the demo, [`DemoError::Output`] if the pipes
/// fail.
pub(crate) fn serve_files(root: &Path) -> Result<(), DemoError> {
    let store = DemoFolder::open(root)?;
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    serve(&store, &mut input, &mut output).map_err(DemoError::Output)
}

/// The tools by name, each with the digest that a contract pins.
pub(super) fn tool_digests() -> Vec<(String, Digest)> {
    let name = |tool: &Value| tool.get("name").and_then(Value::as_str).map(str::to_owned);
    let tools = tool::all();
    let named = tools.as_array().into_iter().flatten().filter_map(|tool| Some((name(tool)?, tool)));
    named.filter_map(|(name, tool)| Some((name, upstream_digest(tool, None).ok()?))).collect()
}

fn serve(store: &DemoFolder, input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut *input).take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.len() as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
            return Err(io::Error::other("a message is longer than 1 MiB"));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Some(answer) = answer_message(store, &line) {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
}

/// The answer to one message; `None` for a notification.
fn answer_message(store: &DemoFolder, line: &[u8]) -> Option<Value> {
    let Ok(Value::Object(message)) = serde_json::from_slice(line) else {
        return Some(error_response(
            &Value::Null,
            code::PARSE_ERROR,
            "the message is not a JSON object",
        ));
    };
    let id = message.get("id").filter(|id| id.is_string() || id.is_number())?;
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        return Some(error_response(id, code::INVALID_REQUEST, "the message has no method"));
    };
    let empty = Map::new();
    let params = message.get("params").and_then(Value::as_object).unwrap_or(&empty);
    let result = match method {
        "initialize" => Ok(initialize(params)),
        "server/discover" => Ok(discover()),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": tool::all() })),
        "tools/call" => call_tool_method(store, params),
        _ => Err((code::METHOD_NOT_FOUND, "there is no such method")),
    };
    Some(match result {
        Ok(result) => {
            json!({ "jsonrpc": "2.0", "id": id, "result": with_era_fields(result, params) })
        }
        Err((code, message)) => error_response(id, code, message),
    })
}

fn error_response(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn initialize(params: &Map<String, Value>) -> Value {
    let requested = params.get("protocolVersion").and_then(Value::as_str);
    let version =
        requested.filter(|requested| LEGACY_VERSIONS.contains(requested)).unwrap_or(LEGACY_VERSION);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": implementation(),
    })
}

fn discover() -> Value {
    json!({
        "supportedVersions": [MODERN_VERSION],
        "capabilities": { "tools": {} },
        "_meta": { "io.modelcontextprotocol/serverInfo": implementation() },
    })
}

fn implementation() -> Value {
    json!({ "name": "weaver-demo-server", "version": env!("CARGO_PKG_VERSION") })
}

fn call_tool_method(
    store: &DemoFolder,
    params: &Map<String, Value>,
) -> Result<Value, (i64, &'static str)> {
    let name = params
        .get("name")
        .and_then(Value::as_str)
        .ok_or((code::INVALID_PARAMS, "there is no name"))?;
    let empty = Map::new();
    let arguments = match params.get("arguments") {
        None => &empty,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err((code::INVALID_PARAMS, "the arguments are not an object")),
    };
    match tool::run(store, name, arguments) {
        None => Err((code::INVALID_PARAMS, "there is no such tool")),
        Some(Ok(value)) => Ok(json!({
            "content": [{ "type": "text", "text": value.to_string() }],
            "structuredContent": value,
        })),
        Some(Err(error)) => Ok(json!({
            "content": [{ "type": "text", "text": error.to_string() }],
            "isError": true,
        })),
    }
}

/// Adds the members that a result has in the modern era. A request of that era names its version.
fn with_era_fields(mut result: Value, params: &Map<String, Value>) -> Value {
    let meta = params.get("_meta").and_then(Value::as_object);
    let modern =
        meta.is_some_and(|meta| meta.contains_key("io.modelcontextprotocol/protocolVersion"));
    if let Some(members) = result.as_object_mut().filter(|_| modern) {
        members.insert("resultType".to_owned(), json!("complete"));
        if members.contains_key("tools") || members.contains_key("supportedVersions") {
            members.insert("ttlMs".to_owned(), json!(0));
            members.insert("cacheScope".to_owned(), json!("private"));
        }
    }
    result
}

#[cfg(test)]
mod tests;
