//! The server: tools that answer at once, over pipes or over HTTP. Like any server, it names their
//! effects, which count for nothing until a contract says the same.

use std::io::{self, BufRead, Write};
use std::sync::LazyLock;

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::{Value, json};
use weaver_types::{Clock as _, SystemClock};

/// Stands before the time at which a server listed its tools first, in their descriptions.
pub(crate) const LISTED: &str = "listed at ";

/// Serves standard input until it ends, with `more` tools beside the two that are called.
pub(crate) fn serve(more: usize) -> io::Result<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(answer) = answer(&message, more) else { continue };
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

/// Serves HTTP as a server without sessions does, whose answers are no streams.
pub(crate) async fn serve_http(listener: tokio::net::TcpListener) -> io::Result<()> {
    use axum::serve::ListenerExt as _;
    // Nagle's algorithm would wait for more to send.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, Router::new().route("/mcp", post(answer_post))).await
}

async fn answer_post(body: Bytes) -> Response {
    let message = serde_json::from_slice(&body).unwrap_or_default();
    match answer(&message, 0) {
        Some(answer) => ([(CONTENT_TYPE, "application/json")], answer.to_string()).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    }
}

fn answer(message: &Value, more: usize) -> Option<Value> {
    let id = message.get("id")?;
    Some(match result(message, more) {
        Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        None => {
            let error = json!({ "code": -32601, "message": "there is no such method" });
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        }
    })
}

fn result(message: &Value, more: usize) -> Option<Value> {
    match message.get("method").and_then(Value::as_str)? {
        "initialize" => Some(json!({
            "protocolVersion": message.pointer("/params/protocolVersion"),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "echo", "version": "1" },
        })),
        "ping" => Some(json!({})),
        "tools/list" => {
            let mut tools = vec![tool("get", true), tool("put", false)];
            tools.extend((0..more).map(|n| tool(&format!("more_{n}"), true)));
            Some(json!({ "tools": tools }))
        }
        "tools/call" => {
            let said = message.pointer("/params/arguments/text").and_then(Value::as_str)?;
            Some(json!({ "content": [{ "type": "text", "text": said }] }))
        }
        _ => None,
    }
}

fn tool(name: &str, reads: bool) -> Value {
    static FIRST: LazyLock<i64> = LazyLock::new(now_us);
    json!({
        "name": name,
        "description": format!("Answers with the text that it is given; {LISTED}{}", *FIRST),
        "inputSchema": {
            "type": "object",
            "properties": { "text": { "type": "string" } },
            "required": ["text"],
        },
        "annotations": { "readOnlyHint": reads, "destructiveHint": false, "openWorldHint": false },
    })
}

/// The time now, in microseconds.
pub(crate) fn now_us() -> i64 {
    SystemClock::default().now().micros()
}
